"""Shapes of credentials that their issuers publish, so that scanners can find them.

Each stands beside a piece of text without which it cannot match: looking for that piece costs a
hundredth of matching, and an expression is compiled when its piece was seen. All are linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from memory_fabric.patterns import exact
from memory_fabric.redaction.secret_rules import BESIDE, ISSUED
from memory_fabric.redaction.secret_words import NAMED

# Characters at the beginning of a piece by which it is looked up.
HEAD_CHARS = 3

# Between words, where `-` and `_` belong to a word: `task-` and `mask_` begin nothing of ours.
_START = r"(?<![A-Za-z0-9_-])"
# A key has a digit in it; a name of words and hyphens has none.
_WITH_DIGIT = r"(?=[A-Za-z_-]{0,255}[0-9])"
_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

# (what must be in the text, the expression); several pieces mean any of them.
SHAPES: tuple[tuple[str, str], ...] = (
    ("AKIA ASIA ABIA ACCA", r"\b(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}\b"),
    ("ghp_ gho_ ghu_ ghs_ ghr_", r"\bgh[pousr]_[A-Za-z0-9]{30,255}\b"),
    ("github_pat_", r"\bgithub_pat_[A-Za-z0-9_]{40,255}\b"),
    (
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glimt- glagent- gloas-",
        r"\bgl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[A-Za-z0-9_.-]{20,100}",
    ),
    ("sk-", rf"\bsk-{_WITH_DIGIT}[A-Za-z0-9_-]{{20,255}}"),
    ("k_live_ k_test_", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,128}\b"),
    ("pk_prod_", r"\bpk_prod_[A-Z0-9]{20,40}\b"),
    (
        "5H 5J 5K K L",
        r"(?<![A-Za-z0-9])(?:5[HJK][1-9A-HJ-NP-Za-km-z]{49}|[KL][1-9A-HJ-NP-Za-km-z]{51})(?![A-Za-z0-9])",
    ),
    ("xprv yprv zprv", r"\b[xyz]prv[1-9A-HJ-NP-Za-km-z]{100,115}\b"),
    ("AAAAAAAAAAAAAAAAAAAA", r"\bA{20,24}[A-Za-z0-9%]{60,120}"),
    ("access-", rf"\baccess-(?:sandbox|development|production)-{_UUID}"),
    ("whsec_", r"\bwhsec_[A-Za-z0-9+/=]{20,128}"),
    ("xox", r"\bxox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{10,255}"),
    ("xapp-", r"\bxapp-\d-[A-Za-z0-9-]{10,255}"),
    ("hooks.slack.com/", r"(?:https?://)?hooks\.slack\.com/[a-z]{1,20}/[A-Za-z0-9/_-]{20,128}"),
    ("/api/webhooks/", r"(?:https?://[\w.]{4,40})?/api/webhooks/\d{15,20}/[A-Za-z0-9_-]{40,128}"),
    (".webhook.office.com/", r"(?<=\.webhook\.office\.com/)[A-Za-z0-9@/_-]{40,256}"),
    ("AIza", r"\bAIza[A-Za-z0-9_-]{35}"),
    ("ya29.", r"\bya29\.[A-Za-z0-9_-]{20,512}"),
    ("GOCSPX-", r"\bGOCSPX-[A-Za-z0-9_-]{20,64}"),
    ("1//0", r"(?<![\w/.:])1//0[A-Za-z0-9_-]{30,256}"),
    ("npm_", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("pypi-", r"\bpypi-[A-Za-z0-9_-]{40,512}"),
    ("rubygems_", r"\brubygems_[a-f0-9]{48}\b"),
    ("cio", rf"\bcio{_WITH_DIGIT}[A-Za-z0-9]{{32}}\b"),
    ("oy2", r"\boy2[a-z0-9]{43}\b"),
    ("hf_", r"\bhf_[A-Za-z0-9]{30,64}\b"),
    ("r8_", r"\br8_[A-Za-z0-9]{37,40}\b"),
    ("gsk_", r"\bgsk_[A-Za-z0-9]{40,64}\b"),
    ("pplx-", r"\bpplx-[A-Za-z0-9]{40,64}\b"),
    ("xai-", r"\bxai-[A-Za-z0-9]{60,100}\b"),
    ("SG.", r"\bSG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}"),
    ("key-", r"\bkey-[a-f0-9]{32}\b"),
    ("-us", r"\b[a-f0-9]{32}-us\d{1,2}\b"),
    ("SK", r"\bSK[a-f0-9]{32}\b"),
    ("xkeysib-", r"\bxkeysib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    (":AA", r"(?:\bbot|\b)\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    (
        ".",
        r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"
        r"(?![A-Za-z0-9_.-])",
    ),
    ("shpat_ shpca_ shppa_ shpss_ shptka_", r"\bshp(?:at|ca|pa|ss|tka)_[a-fA-F0-9]{32}\b"),
    ("sq0", r"\bsq0(?:atp|csp|idp)-[A-Za-z0-9_-]{22,64}"),
    ("EAAA EAAC EAAB EAAG", rf"\bEAA[ABCG]{_WITH_DIGIT}[A-Za-z0-9_-]{{56,255}}"),
    ("ATATT3 ATCTT3 ATBB", r"\b(?:ATATT3|ATCTT3|ATBB)[A-Za-z0-9_=-]{20,255}"),
    ("lin_api_", r"\blin_api_[A-Za-z0-9]{32,64}\b"),
    ("ntn_", r"\bntn_[A-Za-z0-9]{40,64}\b"),
    ("secret_", rf"\bsecret_{_WITH_DIGIT}[A-Za-z0-9]{{43}}\b"),
    ("figd_", r"\bfigd_[A-Za-z0-9_-]{30,64}"),
    ("PMAK-", r"\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b"),
    ("pul-", r"\bpul-[a-f0-9]{40}\b"),
    ("pat", r"\bpat[A-Za-z0-9]{14}\.[a-f0-9]{64}\b"),
    ("pat-", r"\bpat-[a-z]{2}\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"),
    ("dop_v1_ doo_v1_ dor_v1_", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    ("dapi", r"\bdapi[a-f0-9]{32}(?:-\d)?\b"),
    ("dckr_", r"\bdckr_(?:pat|oat)_[A-Za-z0-9_-]{20,64}"),
    ("dp.", r"\bdp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{40,100}"),
    ("hvs. hvb. hvr.", r"\bhv[sbr]\.[A-Za-z0-9_-]{20,300}"),
    (".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{50,100}"),
    ("HRKU-", r"\bHRKU-[A-Za-z0-9_-]{30,80}"),
    ("NRAK- NRJS- NRII-", r"\bNR(?:AK|JS|II)-[A-Za-z0-9_-]{19,64}"),
    ("glsa_ glc_", r"\b(?:glsa|glc)_[A-Za-z0-9_+/=]{32,400}"),
    ("sntrys_ sntryu_", r"\bsntry[su]_[A-Za-z0-9_+/=-]{32,300}"),
    ("sbp_", r"\bsbp_[a-f0-9]{40}\b"),
    ("sb_secret_", r"\bsb_secret_[A-Za-z0-9_-]{20,80}"),
    ("pscale_", r"\bpscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{32,64}"),
    ("FlyV1 fo1_ fm2_", r"\b(?:FlyV1 )?f(?:o1|m2)_[A-Za-z0-9+/=_,-]{30,600}"),
    ("tskey-", r"\btskey-[a-z]{2,10}-[A-Za-z0-9-]{20,100}"),
    ("ops_eyJ", r"\bops_eyJ[A-Za-z0-9_-]{50,2000}"),
    ("sl.", rf"\bsl\.{_WITH_DIGIT}[A-Za-z0-9_-]{{100,300}}"),
    ("LTAI", r"\bLTAI[A-Za-z0-9]{12,30}\b"),
    ("AKID", rf"\bAKID{_WITH_DIGIT}[A-Za-z0-9]{{28,40}}\b"),
    ("EZAK EZTK", r"\bEZ[AT]K[A-Za-z0-9]{54}\b"),
    ("phx_", r"\bphx_[A-Za-z0-9_]{40,64}\b"),
    ("sgp_", r"\bsgp_[A-Za-z0-9_]{40,80}\b"),
    ("nfp_", r"\bnfp_[A-Za-z0-9]{30,64}\b"),
    ("rnd_", rf"\brnd_{_WITH_DIGIT}[A-Za-z0-9]{{28,40}}\b"),
    ("re_", rf"{_START}re_{_WITH_DIGIT}[A-Za-z0-9]{{6,12}}_[A-Za-z0-9]{{20,32}}\b"),
    ("sha256~", r"\bsha256~[A-Za-z0-9_-]{43}"),
    ("Q~", r"(?<![A-Za-z0-9_~.-])[A-Za-z0-9_~.]{3}\dQ~[A-Za-z0-9_~.-]{31,34}(?![A-Za-z0-9_~.-])"),
    ("AGE-SECRET-KEY-", r"\bAGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,120}\b"),
    ("vercel_blob_rw_", r"\bvercel_blob_rw_[A-Za-z0-9_]{30,100}"),
    ("vcp_ vck_ vca_ vci_ vcr_", rf"{_START}vc[pkair]_{_WITH_DIGIT}[A-Za-z0-9]{{20,100}}\b"),
    ("pcsk_", r"\bpcsk_[A-Za-z0-9_]{40,100}"),
    ("tvly-", rf"\btvly-{_WITH_DIGIT}[A-Za-z0-9-]{{20,80}}"),
    ("lsv2_", r"\blsv2_(?:pt|sk)_[A-Za-z0-9]{20,64}(?:_[A-Za-z0-9]{6,20})?"),
    ("ls__", rf"{_START}ls__{_WITH_DIGIT}[A-Za-z0-9]{{24,64}}\b"),
    ("nvapi-", r"\bnvapi-[A-Za-z0-9_-]{40,100}"),
    ("sk_ rk_", rf"{_START}[rs]k_{_WITH_DIGIT}[A-Za-z0-9]{{24,100}}\b"),
    ("CCIPAT_ CCIPRJ_", r"\bCCIP(?:AT|RJ)_[A-Za-z0-9]{16,40}_[a-f0-9]{32,64}\b"),
    ("bkua_ bkct_ bkpt_ bkpi_ bkaj_", r"\bbk(?:ua|ct|pt|pi|aj)_[A-Za-z0-9_.-]{24,200}"),
    ("AVNS_", rf"\bAVNS_{_WITH_DIGIT}[A-Za-z0-9_-]{{15,40}}"),
    ("aivenv1", r"\baivenv1[A-Za-z0-9+/=_-]{20,400}"),
    ("napi_ npg_", rf"{_START}n(?:api|pg)_{_WITH_DIGIT}[A-Za-z0-9]{{12,100}}\b"),
    ("A3-", rf"\bA3-{_WITH_DIGIT}[A-Z0-9]{{6}}(?:-[A-Z0-9]{{5,11}}){{4,5}}\b"),
    ("tgp_v1_", r"\btgp_v1_[A-Za-z0-9_-]{30,64}"),
    ("fw_", rf"{_START}fw_{_WITH_DIGIT}[A-Za-z0-9]{{20,40}}\b"),
    ("fc-", r"(?<![A-Za-z0-9_-])fc-[a-f0-9]{32}\b"),
    ("e2b_ jina_ lin_oauth_", r"\b(?:e2b|jina|lin_oauth)_[A-Za-z0-9_-]{30,80}"),
    ("polar_", r"\bpolar_(?:oat|pat|at_u|at_o|rt_u|cst|whs)_[A-Za-z0-9]{30,64}"),
    ("sdk- api- mob-", rf"{_START}(?:sdk|api|mob)-{_UUID}"),
    ("secret-", rf"{_START}secret-{_WITH_DIGIT}[A-Za-z0-9]{{36,64}}\b"),
    ("phs_ phc_", r"\bph[sc]_[A-Za-z0-9_]{40,64}\b"),
    ("ddp_ ddo_ ddw_ jsrp_ jsrd_", r"\b(?:dd[pow]|jsr[pd])_[A-Za-z0-9_-]{30,64}"),
    ("nfc_ nfo_ nfu_ nfb_", r"\bnf[coub]_[A-Za-z0-9]{30,64}\b"),
    ("sqp_ squ_ sqa_", r"\bsq[pua]_[a-f0-9]{40}\b"),
    ("snyk_", r"\bsnyk_(?:uat|sat)\.[A-Za-z0-9._-]{20,120}"),
    ("hca hcb hcx", r"\bhc[abx][ilm]k_[A-Za-z0-9]{40,80}\b"),
    ("xaat- xapt-", rf"\bxa(?:at|pt)-{_UUID}"),
    ("CFPAT-", r"\bCFPAT-[A-Za-z0-9_-]{40,64}"),
    ("ATTA", r"\bATTA[a-f0-9]{64}[A-F0-9]{0,8}\b"),
    ("rzp_", r"\brzp_(?:live|test)_[A-Za-z0-9]{14,32}\b"),
    ("dbtu_ dbtc_ dbts_", r"\bdbt[ucs]_[A-Za-z0-9_=-]{30,100}"),
    ("mdb_sa_", r"\bmdb_sa_sk_[A-Za-z0-9_-]{30,64}"),
    ("sk.eyJ pk.eyJ tk.eyJ", r"\b[spt]k\.eyJ[A-Za-z0-9_-]{20,200}\.[A-Za-z0-9_-]{16,64}"),
    ("JQQJ9 AZDO", r"\b[A-Za-z0-9]{40,60}(?:JQQJ9|AAAAAAAAAAAAAZDO)[A-Za-z0-9]{4,40}\b"),
    ("SCW", rf"{_START}SCW{_WITH_DIGIT}[A-Z0-9]{{17}}\b"),
    ("EXO", r"\bEXO[a-f0-9]{24}\b"),
    ("cfut_ cfat_ cfk_", r"\bcf(?:ut|at|k)_[A-Za-z0-9]{30,64}"),
    ("y0_ y0__", rf"{_START}y0_{_WITH_DIGIT}[A-Za-z0-9_-]{{50,64}}"),
    ("pk_", r"\bpk_\d{5,12}_[A-Z0-9]{32}\b"),
    ("access_token$", r"\baccess_token\$(?:production|sandbox)\$[a-z0-9]{10,24}\$[a-f0-9]{32}\b"),
    ("base64:", r"\bbase64:[A-Za-z0-9+/]{43}="),
    ("1/ 2/", r"(?<![\w/.])[12]/\d{10,20}(?:/\d{10,20})?:[a-f0-9]{32}\b"),
    ("wandb_ uc_ arty_", rf"{_START}(?:wandb_v1|uc|arty)_{_WITH_DIGIT}[A-Za-z0-9_]{{24,100}}\b"),
    ("AQVN", rf"\bAQVN{_WITH_DIGIT}[A-Za-z0-9_-]{{35,38}}(?![A-Za-z0-9_-])"),
    ("YC", rf"{_START}YC{_WITH_DIGIT}(?=[A-Z0-9_-]{{0,38}}[a-z])[A-Za-z0-9_-]{{36,44}}(?![\w-])"),
    ("t1.", r"(?<![\w.])t1\.[A-Za-z0-9_-]{20,300}={0,2}\.[A-Za-z0-9_-]{80,90}={0,2}"),
    ("tfp_ dnkey-", r"\b(?:tfp_|dnkey-)[A-Za-z0-9_.=-]{40,100}"),
    ("xsmtpsib-", r"\bxsmtpsib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    ("s.", rf"(?<![\w.])s\.(?=[a-z0-9]{{0,24}}[A-Z]){_WITH_DIGIT}[A-Za-z0-9]{{24}}(?![\w.])"),
    ("pa-", rf"{_START}pa-{_WITH_DIGIT}(?=[a-z0-9_-]{{0,40}}[A-Z])[A-Za-z0-9_-]{{40,64}}"),
    (".", r"(?<![\w.])[a-z]{2,8}\.[a-f0-9]{24,64}(?:\.[a-f0-9]{24,64}){1,3}(?![\w.])"),
    ("-", r"(?<![\w-])\d{6}(?:-\d{6}){7}(?![\w-])"),
    # A user or number of a table, and the token that it was given.
    (
        "|",
        r"(?:(?<![\w.])[\w.-]{2,40}:[\w.@-]{1,60}\|[a-f0-9]{32,64}|(?<!\S)\d{1,9}\|[A-Za-z0-9]{40,64})\b",
    ),
    ("pdus+", rf"\bpdus\+[\w-]{{6,40}}_{_UUID}"),
    # "-----BEGIN … PRIVATE" in base64, as a kubeconfig or a CI variable holds it.
    (
        "LS0tLS1CRUdJTi",
        r"\bLS0tLS1CRUdJTi(?:BQUklWQVRF|BSU0EgUFJJVkFURS|BFQyBQUklWQVRF|BPUEVOU1NIIFBSSVZBVEUg"
        r"|BFTkNSWVBURUQgUFJJVkFURS|BEU0EgUFJJVkFURS)[A-Za-z0-9+/=_-]{20,20000}",
    ),
    (
        "eyJ",
        rf"{_START}eyJ[A-Za-z0-9_-]{{10,4096}}\.eyJ[A-Za-z0-9_-]{{10,4096}}"
        r"\.[A-Za-z0-9_-]{8,1024}",
    ),
    # Encrypted (JWE): five parts, the second and others random.
    (
        "eyJ",
        rf"{_START}eyJ[A-Za-z0-9_-]{{10,4096}}\.[A-Za-z0-9_-]{{0,1024}}\.[A-Za-z0-9_-]{{8,64}}"
        r"\.[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{8,64}",
    ),
)
# What may stand between the name and its value, as in the public sets.
_BESIDE = (
    r"((?:{names})[ \t\w.-]{{0,30}}[\s'\"`)\]*]{{0,4}}"
    r"(?:=>|->|→|>|:{{1,3}}=|\|\||\||:|\?=|=|,|\bis\b)[`'\"\s=*]{{0,5}})"
    r"({value})(?![A-Za-z0-9])"
)
_PUBLIC = (
    r"(?i:(?<![a-z])(?:commit|sha|md5|digest|checksum|hash|etag|integrity|revision|release|version|"
    r"(?:zone|account|price|sid|id)\W{0,4}$|image|build|branch|deployment|request|trace|span|run|job|public|url|tag|ref)(?![a-z]))"
)
# A form of the issuer that is longer than the one that is known.
_REST = r"(?:(?<=[A-Za-z0-9])[A-Za-z0-9_-]{1,128})?"
# Pieces and expressions: our own, and, with pieces in small letters, those of public rule sets.
_SETS = SHAPES, tuple((pieces, shape + _REST) for pieces, shape in ISSUED)


def shapes_in(text: str) -> Iterable[re.Pattern[str]]:
    """The expressions that could match in this text: our own, then those of public rule sets."""
    return map(_compiled, [*_seen(text, 0), *_seen(text.lower(), 1)])


def _seen(text: str, number: int) -> list[str]:
    """The expressions of one of the _SETS of which a piece is in the text, in their order."""
    heads = _heads(number)
    there = {text[at : at + HEAD_CHARS] for at in range(len(text))} & heads.keys()
    found = {place for head in ("", *there) for place, piece in heads[head] if piece in text}
    return [_SETS[number][place][1] for place in sorted(found)]


@cache
def _heads(number: int) -> dict[str, list[tuple[int, str]]]:
    """The pieces of a set with their places, by their first characters; shorter ones by ""."""
    heads: dict[str, list[tuple[int, str]]] = {"": []}
    for place, (pieces, _) in enumerate(_SETS[number]):
        for piece in pieces.split():
            head = piece[:HEAD_CHARS] if len(piece) >= HEAD_CHARS else ""
            heads.setdefault(head, []).append((place, piece))
    return heads


def every_shape() -> list[str]:
    """Return the expressions that `shapes_in` chooses from, and those of values beside a name."""
    beside = [_BESIDE.format(names=names, value=value) for names, _, value in (*NAMED, *BESIDE)]
    return [*(s for _, s in (*_SETS[0], *_SETS[1])), *beside]


def without_values_of_issuers(text: str) -> str:
    """The text without values that stand behind the name of their issuer, in its form."""
    folded = text.casefold()
    for names, pieces, value in (*NAMED, *BESIDE):
        if any(piece in folded for piece in pieces.split()):
            text = _compiled(_BESIDE.format(names=names, value=value)).sub(_hide_value, text)
    return text


def _hide_value(match: re.Match[str]) -> str:
    lead, value = match.group(1), match.group(2)
    is_public = _compiled(_PUBLIC).search(lead) or not any(c.isdigit() for c in value)
    return match.group() if is_public else f"{lead}[redacted: token]"


@cache
def _compiled(shape: str) -> re.Pattern[str]:
    return exact(shape)
