"""The forms of corrections: one table of expressions; every gap in them is bounded.

They run on single sentences and clauses, from the start, without regard to case.
"""

from __future__ import annotations

_PLEASE = r"(?:(?:and|so|but|hey|ugh|argh|seriously|please|just|also|ok(?:ay)?|sorry)[ ,]+){0,3}"
_END = r"(?:[\s,.!:;…—–-]+|$)"
# How a sentence denies what was done.
MARK = (
    rf"{_PLEASE}(?:(?:no|nope|nah)(?:[ ]*[,.!:;…—–-]+\s*|(?:\s+(?=(?:we|use|our|this project|here|"
    r"always|never|don't|do not|it's)\b)))|(?:that(?:'s| is|s)|this is|it's)"
    rf" (?:wrong|incorrect|not (?:right|correct|true|how we do (?:it|that|this|things)"
    rf"(?: (?:here|in this \w+))?)){_END}|(?:wrong|incorrect)(?: again)?[ ]*[,.!:;—–-]+\s*|"
    rf"actually,? no{_END}|please{_END})"
)
# How somebody says it again.
SAYING = (
    rf"{_PLEASE}(?:(?:as|like) i(?:'ve| have)?(?: already| just)? (?:said|told you|mentioned|"
    r"explained)(?: (?:before|earlier|already|twice|many times))?[ ,:—–-]+|(?:again|once (?:more|"
    r"again)|remember|reminder)[ ]*[,:—–-]+\s*|(?:please )?remember(?: that)? (?=we |our |never |"
    r"always |in this |to )|for the (?:second|third|fourth|fifth|last|nth|umpteenth|hundredth|"
    r"\d+(?:nd|rd|th)) time[ ]*[,:—–-]+\s*|how (?:many times|often) (?:do|must|have) i "
    r"(?:have to |need to |got to )?(?:to )?(?:say|tell|repeat|told|said)(?: (?:it|this|that|you|"
    r"again)){0,3}[ ]*[,:—–-]+\s*)"
)
TOLD = (
    rf"{_PLEASE}(?:i(?:'ve| have)?(?: already| just| explicitly| clearly| repeatedly)? (?:told you|"
    r"asked you|said)(?: (?:before|already|twice|again|many times|three times|so often|earlier|"
    r"last time|yesterday)){0,2}|i keep (?:telling you|saying|asking you)|i (?:have to|must) "
    r"(?:tell you|repeat)(?: again)?)(?: that|[ ]*[,:—–-]+|(?= to )|(?= not to )|(?= never )|"
    r"(?= stop )|(?= don't )|(?= no ))(?:\s+to(?= \w)|\s+(?=not to ))?\s+"
)
STOP = rf"{_PLEASE}(?:stop|quit) (?P<rest>\w+ing\b.*)"
# What is stopped only now; or says nothing to somebody who comes later.
VAGUE_STOP = (
    r"(?:running|waiting|working|thinking|talking|worrying|searching|looking|being|trying|"
    r"getting|having|asking|seeing|going|saying|playing|watching|hitting|failing)\b|"
    r"(?:doing|editing|changing|using|adding|writing|making) (?:it|that|this|them|those|these|so|"
    r"things|stuff)\b|\w+ing (?:the|this|that|my) (?:\w+ )?\w*[^s\W](?:$|[,.;!]| (?:now|and|i|for "
    r"a))"
)
LEFT_OFF = (
    r"stop using (?P<over>[\w@./#+`-]+(?: [\w@./#+`-]+)?)(?=$| (?:instead|for|in|on|everywhere)\b)"
)
KEEP = (
    r"(?:but |and )?you(?:'re| are)? (?:keep(?: on)?|always|constantly|still keep) "
    r"(?P<rest>(?:\w+ing|forget to)\b.*)"
)
WANT_NOT = r"i (?:don't|do not|never) want (?:you to |to see you )(?=.*\b(?:again|ever|never)\b)"
FORBIDDEN = (
    rf"{_PLEASE}(?:you (?:should|must|may|can) )?(?:don't(?: ever)?|do not(?: ever)?|never|not to) "
    r"(?P<rest>(?!mind\b)\w.*)"
)
# With these, "again" means: once more.
LITERAL_AGAIN = (
    r"(?:run|try|start|open|read|check|ask|call|build|test|restart|look|show|print|execute|do|say|"
    r"repeat|send|fetch|deploy|compile|install|load|click|generate|search|explain|rebuild)\b"
)
NO_THINGS = r"no (?!one\b|idea\b|need\b|problem\b|worries\b|thanks\b)(?:[\w/-]+ ){0,3}[\w/-]+s\b"
_STANDING_VERBS = (
    r"(?:use|write|keep|put|name|deploy|test|sign|squash|rebase|merge|store|log|commit|push|pull|"
    r"tag|release|ship|host|run|build|call|format|lint|indent|document|review|version|cache|mock|"
    r"stub|follow|prefer|import|export|return|throw|raise|validate|pin|install|publish|branch|"
    r"track|generate|handle|wrap|type|spell|translate|expose|hash|encrypt|sort|define|declare|"
    r"inject|avoid|target|support|do|manage|configure|place|structure|prefix|suffix|quote|rely on|"
    r"speak|catch|ignore|require|allow|accept|add|edit|touch|delete|create|change|amend|skip)"
)
_ADVERBS = (
    r"(?:(?:always|only|never|don't|do not|usually|generally|all|also|just|exclusively) ){0,2}"
)
HOUSE = (
    rf"(?:so |but |and |because )?(?:here,? |in this \w+,? )?we {_ADVERBS}{_STANDING_VERBS}\b"
    r"(?! (?:it|them|that|this|those|these|so|what|need|know|have)\b)(?!ed\b)"
)
HOUSE_FIRST = (
    r"(?:this|the|our) (?:project|repo|repository|codebase|team|monorepo|app|package) "
    r"(?:always |only |never )?(?:uses|follows|targets|requires|runs on|relies on|is written in|"
    r"supports|keeps|has a rule)\b"
)
OWN = (
    r"our (?:[\w-]+ ){1,5}?(?:is|are|lives?|goes?|go|stays?|belongs?|says?|use[sd]?|run|runs)\b"
    r"(?! (?:broken|down|red|failing|slow|late|not|still|here)\b)"
)
_ADJECTIVES = (
    r"(?:blue|red|green|yellow|black|white|gr[ea]y|orange|purple|pink|bold|bigger|smaller|larger|"
    r"wider|narrower|darker|lighter|empty|wrong|right|broken|missing|failing|slow|late|down|fine)"
)
PLACE = (
    r"(?P<what>(?!(?:we|i|you|he|she|there|here|the (?:error|bug|problem|file|class|function|"
    r"method|component|page|test|variable|import|code|fix|change|image|screenshot|issue|mistake|typo|"
    r"result|output|sum|value|answer|number|button|line|first|second|other|last))\b)"
    r"(?:[\w./`'-]+ ){0,5}?[\w./`'-]+) (?:(?P<lives>lives?|belongs?|goes|go|lies?|resides?|stays?|"
    r"(?:is|are) (?:always )?(?:in|under|stored in|kept in|written in|defined in|configured in) "
    r"(?!a\b|an\b|line\b))\b|(?:is|are|should be|must be|should always be|has to be|have to be)\b)"
    rf"(?! (?:still |now |not |also |too |always )?{_ADJECTIVES}\b)(?! \d+(?:$|[.,;]$))"
)
_NAME = r"[\w@./#+`-]+(?: [\w@./#+`-]+)?"
NOT_THAT = (
    rf"not (?P<left>(?!the\b|a\b|an\b|that\b|this\b|only\b|just\b|now\b|yet\b|sure\b|bad\b|my\b)"
    rf"{_NAME}), (?:but )?(?:use )?(?P<taken>(?!the\b|a\b|an\b|that\b|this\b|my\b){_NAME})$"
)
USE = (
    rf"{_PLEASE}(?P<standing>(?:from now on|going forward|in (?:the )?future|next time|henceforth)"
    r",? )?(?:please )?(?:always |only |just |instead,? )?(?P<verb>use|prefer|run|write|put|keep|"
    r"name|ask|check|call|import|follow|commit|add|update|format|place|store|test|read|make sure|"
    r"document|log|return|raise|throw|stick to|stick with|go through|wrap|pin|avoid|set|make|"
    r"change|move|rename|delete|remove|fix|replace|create|build|deploy|merge|rebase|squash|sign|stage|"
    r"leave|quote|indent|sort|type|annotate|declare|define|validate|verify|look up|tell me|"
    r"answer|respond|reply|explain|wait for) "
    r"(?P<rest>(?!it\b|them\b|that\b|this\b|these\b|those\b)\S.*)"
)
# Words of the edit in hand: the verb and one thing that only this conversation knows.
EDIT = (
    r"(?:make|change|move|rename|delete|remove|fix|add|put|set|replace|create|leave|keep|build|"
    r"read|check|update|tell me|wait for|write|call|test|merge|deploy|type|sort|store|place|define"
    r") (?:the|my|your|its|his|her|one|another|both)\b(?! \w+s\b)|tell me\b|set \w+ to\b"
)
# What somebody else, or later, would follow: not only here and now.
GENERAL = (
    r"\b(?:always|never|ever|from now on|going forward|in (?:the )?future|next time|everywhere|"
    r"throughout|whenever|all|every|each|any|by default|in (?:this|our|the) (?:whole |entire )?"
    r"(?:repo|repository|project|codebase|team|monorepo|app|org)|before (?:you )?(?:commit|push|"
    r"merg|delet|releas|deploy)\w*|before each|new code|without asking|without being asked)\b"
)
LOCAL = (
    r"\b(?:yet|for now|right now|just now|this (?:time|once|one)|today|tonight|tomorrow|at the "
    r"moment|until (?:i|we)|the (?:other|first|second|third|previous|next|same|old|wrong|right|"
    r"original|current|last) (?:one|\w+)|other one|line \d+|lines \d+|above|below|i meant|i mean|"
    r"back to|undo|revert|for a (?:moment|second|minute)|the one)\b|"
    r"\b(?:blue|red|green|yellow|orange|purple|pink|bold|bigger|smaller|larger|wider)\b"
)
_SCOPES = r"(?:repo|repository|project|codebase|team|app|package|monorepo|company|org\w*|house)"
DEICTIC = (
    rf"\b(?:this|these|those)\b(?! {_SCOPES}\b)|\bthat\b(?=$|[.,;!]| (?:one|file|function|line|way|"
    rf"part|test|class|button|method|again|here|there|either|any ?more|in this {_SCOPES})\b)|"
    r"^(?:please |just |don't |do not |never |always |we |stop ){0,3}\w+ (?:it|them)\b"
)
# The clause before a rule says what was done wrong.
OTHERS = (
    r"(?:you(?:'re| are| were|'ve| have)? (?:again |always |still |keep )?\w+|we (?:don't|do not|"
    r"never) \w+|(?:this|that) is not how)\b"
)
OVER = (
    r"(?:\binstead of|\brather than|\bas opposed to|\bin place of|(?:,(?: and)? |(?<!do )(?<!did )"
    r"(?<!does )(?<!are )(?<!is )(?<!should )(?<!must )(?<!will )(?<!can )\b)not|, (?:and )?never)"
    r"(?: in| on| from| with)? (?:the |a |an |using )?(?P<over>(?!to\b|next\b)[^,;:!?]{1,60}?)"
    r"(?=$|[,;:!?.](?:\s|$)| (?:from now on|in|for|here|going forward|again|because|when|"
    r"anywhere|if|since|next time|on|everywhere)\b)"
    r"|^you(?:'re| are)? (?:keep |always |still )?using (?P<used>[^,;:!?]{1,40}?)(?: again)?, "
)

_DE_WE = r"(?:verwenden|benutzen|nutzen|nehmen|schreiben|setzen|committen|testen)"
_JA_WE = (
    r"(?P<what>(?:ここ|この\w{1,10}|うち)では.{2,60}"
    r"(?:使います|使う|使ってください|書きます))[。.]?$"
)
# A cue, and the expression; `what` is the rule, `over` what it rejects.
WORLD = (
    ("nein", rf"^nein[,.!:]* (?P<what>(?:wir {_DE_WE} (?:hier|immer|nur|in diesem \w+) .{{2,120}}?|"
     rf"(?:hier|in diesem \w+) {_DE_WE} wir .{{2,120}}?|(?:nimm|verwende|benutze|nutze) (?:immer|"
     r"nur) .{2,120}?)(?:,? (?:nicht|statt|kein(?:e|en)?) (?P<over>[^,.;!]{1,60}))?)[.!]?$"),
    ("hör", r"^(?:bitte )?(?P<what>hört? (?:bitte |endlich )?(?:damit )?auf,? .{4,140}? (?:zu "
     r"\w+|\w*zu\w+en))[.!]?$"),
    ("nie wieder", r"^(?:bitte )?(?P<what>(?:\w+ )?nie wieder (?!so\b|das\b)\S+ .{3,140})[.!]?$"),
    ("gesagt", r"^ich (?:habe|hab) (?:es )?dir (?:doch |schon |bereits |mehrfach )?gesagt,? "
     r"(?P<what>(?:dass wir|du sollst|wir) .{6,140})$"),
    ("no,", r"^no[,.!]+ (?P<what>(?:aquí|en este (?:proyecto|repo\w*)),? (?:siempre |solo |nunca )?"
     r"(?:usamos|utilizamos|escribimos|ponemos) .{2,120}?(?:,? (?:no|en (?:lugar|vez) de) "
     r"(?P<over>[^,.;!]{1,60}))?)[.!]?$"),
    ("vuelvas a", r"^(?:por favor,? )?(?P<what>no vuelvas a \w+r .{4,140})[.!]?$"),
    ("deja de", r"^(?:por favor,? )?(?P<what>deja de \w+r .{4,140})[.!]?$"),
    ("te ", r"^(?:ya )?te (?:dije|he dicho) (?:que )?(?P<what>(?:no )?(?:uses|usamos|uséis|toques|"
     r"borres) .{3,140})$"),
    ("non,", r"^non[,.!]+ (?P<what>(?:ici,? |dans ce \w+,? )(?:on|nous) (?:n')?(?:utilis\w+|écri\w+"
     r"|met\w*) .{2,120}?(?:,? (?:pas|au lieu de|et pas) (?P<over>[^,.;!]{1,60}))?)[.!]?$"),
    ("arrête", r"^(?P<what>arrêtez? (?:de |d')\w+er .{4,140})[.!]?$"),
    ("plus jamais", r"^(?P<what>ne \w+ plus jamais .{4,140})[.!]?$"),
    ("não", r"^não[,.!]+ (?P<what>(?:aqui|neste \w+),? (?:sempre |só |nunca )?(?:usamos|"
     r"utilizamos|escrevemos) .{2,120}?(?:,? (?:não|em vez de) (?P<over>[^,.;!]{1,60}))?)[.!]?$"),
    ("par", r"^(?:por favor,? )?(?P<what>par[ea] de \w+r .{4,140})[.!]?$"),
    ("nunca mais", r"^(?P<what>nunca mais \w+ .{4,140})[.!]?$"),
    ("不", r"^(?:不对?|不是|错了?)[,，。！! ]+(?P<what>(?:我们|本项目|这个项目|这里).{0,6}?"
     r"(?:用|使用|采用)(?!不).{2,60}?"
     r"(?:[,，]\s?(?:不用|不是|而不是|别用)\s?(?P<over>[^,，。！!]{1,30}))?)[。.！!]?$"),
    ("再", r"^(?:请)?(?P<what>(?:不要|别)再(?!这样|说|做)[^,，。]{3,60}"
     r"(?:[,，].{2,60})?)[。.！!]?$"),
    ("いえ", rf"^いいえ[、,。 ]+{_JA_WE}"),
    ("違", rf"^違(?:います|う)[、,。 ]*{_JA_WE}"),
    ("二度と", r"^(?:もう)?(?P<what>二度と.{4,80}(?:しないで|ないで)(?:ください)?)[。.]?$"),
    ("아니", r"^아니(?:요|야)?[,. ]+(?P<what>(?:여기|이 프로젝트|우리)\S* .{2,60}"
     r"(?:써요|씁니다|사용합니다|사용해요|써))[.]?$"),
    ("다시는", r"^(?P<what>다시는 .{3,80}(?:마세요|마|말 것|말아 주세요))[.!]?$"),
)  # fmt: skip
