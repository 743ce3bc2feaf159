"""Secrets leave whatever the wording around them, and what only resembles one stays."""

from __future__ import annotations

import pytest

from linear import LIMIT, growth
from memory_fabric.redaction.redact import may_hold_secret, redact
from memory_fabric.redaction.tables import without_inserted
from thorough import IS_THOROUGH

SIZE = 1 << 14 if IS_THOROUGH else 1 << 12
# Made at run time, so that no source holds anything that looks like one.
PASSWORDS = ("co3f" + "fee_t0ger", "Tig3" + "R@28", "8l5v" + "1ab4eb", "K^lK1" + "AODh^~oyQ+qA")
KEY = "c88b39f1592f" + "d197248dADU7"

TOLD = {
    "English": """{} is the password for the wiki|the old password was {} and the new one is {}
the password ended up being {}|type {} at the password prompt|password hint aside, it is {}""",
    "Turkish": """{} şifresiyle giriş yap|{} ile giriş yap, şifre bu|şifreyi {} olarak değiştirdim
parolamız {}|eski şifre {} idi, yenisi {}
erişim kodu {}""",
    "French": """il faut saisir {} quand il demande le mot de passe|la phrase de passe est {}
mon mdp est {}|utilise {} comme mot de passe""",
    "Portuguese": """digite {} quando pedir a senha|a frase secreta é {}|a senha ficou {}
a senha antiga era {} e a nova é {}""",
    "Chinese": """用{}做密码|把密码改成{}
{}是密码|「{}」是密码|访问码：{}|旧密码是{}，新密码是{}""",
    "Japanese": """{}がパスワードです|「{}」がパスワード|パスワードを{}にした
合い言葉は{}|パスフレーズ: {}
古いパスワードは{}、新しいのは{}""",
    "Korean": """{}가 비밀번호입니다
'{}'이 비밀번호|비번은 {}|비밀번호를 {}로 변경|예전 비밀번호는 {}, 지금은 {}""",
    "further": "סיסמה: {}|kata sandinya {}|гасло: {}|কী পাসওয়ার্ড {}|kod dostępu to {}|код доступа {}",
    "beside a name": "password (staging): {}|password for bob@example.org is {}|password -> {}",
}
STATED = {
    "tables": """<tr><th>user</th><th>password</th></tr>\\n<tr><td>bob</td><td>{}</td></tr>
│ user │ password │\\n├──────┼──────┤\\n│ bob │ {} │
<tr>\\n<td>Password</td>\\n<td>{}</td>\\n</tr>""",
    "settings": """<password value="{}"/>
<key>password</key>\\n<string>{}</string>|password: !!str {}
<setting name="Secret"><value>{}</value></setting>
password:\\n  value: {}|password:\\n  plain: {}""",
    "dumps": "ROOTPW={}|declare -x KEYPASS={}|bindpw {}|Token\\n=====\\n{}",
}
HARMLESS = {
    "style": """#password:focus { box-shadow: 0 0 0 3px rgba(66,153,225,.5); }
.secret-key { font: 14px/1.5 "Fira Code", monospace; }
<label for="new-password-1" class="form-label mt-3">New password</label>""",
    "types": """key: int8, secret: float32, token: uint64
token: Promise<Token2 | undefined>
the token handler is called handleRefreshTokenV2Async""",
    "versions": """token = "1.0.0-beta.2"
the secret store uses v1beta1; v1alpha1 is converted by a webhook
jwt v5.2.1+incompatible""",
    "SQL": """password varchar(72) COLLATE utf8mb4_general_ci NOT NULL
UPDATE users SET password = :password1 WHERE id = :id1""",
    "references": """password: op://vault2/item1/password
token = os.environ["API_TOKEN2"]
password: ${{ secrets.DB_PASSWORD2 }}
password: "@env:DB_PASSWORD2\"""",
    "stand-ins": """SECRET_KEY=generate-a-long-random-string-of-50-chars
api_key: "xxxxxxxxxxxxxxxx1234"
secret: 1234****abcd""",
    "prose": """Reset the password to continue.
密码使用bcrypt加密
パスワードは90日ごとに変更してください
şifreniz 3 kez yanlış girildi""",
}


def forms(lines: str) -> list[str]:
    return [form.replace("\\n", "\n") for line in lines.split("\n") for form in line.split("|")]


@pytest.mark.parametrize("kind", [*TOLD, *STATED])
def test_a_password_is_redacted_in_every_language_and_file_format(kind: str) -> None:
    for form in forms({**TOLD, **STATED}[kind]):
        for secret in PASSWORDS:
            text = form.replace("{}", secret)
            assert secret not in redact(text), text
            assert may_hold_secret(text), text


@pytest.mark.parametrize("kind", HARMLESS)
def test_text_that_only_resembles_a_secret_stays_unchanged(kind: str) -> None:
    for text in HARMLESS[kind].split("\n"):
        assert redact(text) == text


def test_text_after_a_private_key_without_an_end_line_is_kept() -> None:
    begin = "-" * 5 + "BEGIN RSA PRIVATE KEY" + "-" * 5
    body = "\n".join([(KEY * 3)[:64]] * 3)
    kept = "Afterwards restart the scheduler.\nThen call Ann, please."

    assert redact(f"{begin}\n{body}\n{kept}") == f"[redacted: private key]\n{kept}"


ADVERSARIES = [
    "'<password ' * (n // 10)",
    "'users:\\n' * (n // 7)",
    "('users:\\n' + ' a: b1C2d3e\\n' * 40) * (n // 487)",
    "'admin/a1b2c3d4' * (n // 14)",
    "'<tr><th>password</th>' * (n // 21)",
    "'<key>password ' * (n // 14)",
    "'<name=\"password\"' * (n // 16)",
    "'A_' * (n // 2)",
    "'password(\"a\", ' * (n // 14)",
    "'a1' * (n // 2) + ' password'",
    "'select ' * (n // 7) + 'password'",
    "'.a' * (n // 2) + 'password'",
    "'passwordA' * (n // 9)",
    "'Aab' * (n // 3) + ' token'",
    "('-----BEGIN PRIVATE KEY-----\\n' + 'A1' * 20 + '\\n') * (n // 69)",
]


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_redacting_a_long_adversarial_text_takes_linear_time(adversary: str) -> None:
    assert growth(lambda n: redact(eval(adversary, {"n": n})), SIZE) < LIMIT


@pytest.mark.timeout(20)
def test_an_unterminated_sql_insert_is_parsed_without_catastrophic_backtracking() -> None:
    """With two ways to divide the row's text, this would take more than a lifetime."""
    text = "INSERT INTO users (name, password) VALUES (now" + "a" * 200 + "(), 'x')"

    assert without_inserted(text) == text
