"""The names that people give to secrets, in the languages in which they write; in small letters.

The cheap look and the rules read the same words, so that neither knows a name that the other lacks.
"""

from __future__ import annotations

# Behind these stands a password, which may be a plain word.
PASSWORDS = tuple(
    word.strip().replace("_", " ")
    for word in """
    password passwd passphrase passcode pass_word pwd passwort kennwort losungswort geheimzahl
    zugangscode mot_de_passe mots_de_passe code_secret mdp contraseña contrasena contrasenya
    clave palavra-passe palavra_passe senha parola_d'ordine parola wachtwoord toegangscode
    pincode парол пин-код 密码 密碼 口令 パスワード パスコード 暗証番号 合言葉 비밀번호 암호
    핀_번호 핀번호 패스워드 hasło haslo hasła hasłem şifre sifre lösenord lösenkod adgangskode
    adgangsord kodeord passord salasana heslo heslem jelszó jelszav parolă κωδικό κωδικοσ
    συνθηματικό סיסמה סיסמא סיסמת كلمة_المرور كلمة_السر رمز_عبور पासवर्ड कूटशब्द कूट_शब्द
    mật_khẩu kata_sandi kata_laluan รหัสผ่าน лозинк lozink geslo slaptažod parool salasõna
    lykilorð aðgangsorð parol pasahitz contrasinal wagwoord nenosiri கடவுச்சொல் పాస్‌వర్డ్
    संकेतशब्द پاس_ورڈ گذرواژه პაროლ գաղտնաբառ құпия_сөз fjalëkalim нууц_үг cyfrinair pasfhocal
    通行码 暗号 暗證碼 암구호 geheimcode mot_secret code_d'accès codice_segreto código_de_acceso
    código_secreto codigo_secreto zugangswort accesscode pin_kodu pin_code pin-code pin_kod
    kod_pin pinnummer door_code access_code gate_code alarm_code entry_code unlock_code 비번
    패스프레이즈 인증번호 パスフレーズ 合い言葉 アクセスコード 認証コード 验证码 驗證碼 访问码
    存取碼 提取码 授权码 授權碼 phrase_de_passe phrase_secrète frase_secreta frase_segreta
    code_d’accès codice_di_accesso codice_d'accesso código_secreto kod_dostępu код_доступа
    кодовое_слово erişim_kodu gizli_kelime toegangscode الرمز_السري رمز_الدخول sandinya
    kata_sandinya гасло freischaltcode entsperrcode türcode zahlencode code_de_déverrouillage
    código_de_desbloqueo codice_di_sblocco kod_do_drzwi kod_do_alarmu код_домофона код_от_сейфа
    alarmcode deurcode parole frase-passe frase-chave frase_de_contraseña пароль- парольную_фразу
    암호문 wachtwoordzin пассворд pswd passwrd kodefrase frase_de_paso fraza motdepasse parolfras
    nywila পাসওয়ার্ড құпиясөз focal_faire heslo přístupový_kód zugriffscode
    """.split()
)
# The same, but short or common: only as words of their own.
SHORT_PASSWORDS = (
    "pass",
    "pw",
    "pin",
    "otp",
    "passkey",
    "psk",
    "bindpw",
    "rootpw",
    "ww",
    "пасс",
    "puk",
    "パス",
    "pwrd",
    "passwort",
)
# Behind these stand a name and a password.
PAIRS = tuple(
    word.replace("_", " ")
    for word in """
    credentials credential creds zugangsdaten anmeldedaten logindaten identifiants credenciales
    credenziali credenciais inloggegevens учётные_данные учетные_данные 凭证 凭据 憑證 認証情報
    로그인_정보 자격_증명 dane_logowania kimlik_bilgileri inloggningsuppgifter login logins
    log_in sign_in anmeldung
    """.split()
)
# Behind these stands a key or token: letters and digits, hardly ever a plain word.
KEYS = tuple(
    word.replace("_", " ")
    for word in """
    token secret apikey api_key api-key access_key secret_key private_key signing_key
    encryption_key license_key licence_key auth_key service_key account_key master_key deploy_key
    app_key webhook bearer jwt salt seed hmac schlüssel schluessel geheimnis clé clef jeton llave
    secreto chiave segreto chave segredo sleutel geheim ключ токен секрет 密钥 密鑰 秘钥 金鑰
    令牌 キー トークン シークレット 鍵 秘密 키 토큰 시크릿 klucz sekret anahtar jeton belirteç
    belirteci nyckel 密匙 权杖 權杖 私钥 私鑰 机密 機密 通行证 通行證 kľúč raktas võti khoá
    mã_thông_báo אסימון کلید გასაღები cheia cheie gizli_bilgi 인증키 nøgle nøkkel avain klíč
    kulcs cheie κλειδί מפתח مفتاح कुंजी khóa kunci กุญแจ clau
    """.split()
)
KEYS += (
    "api_key",
    "access_key",
    "secret_key",
    "private_key",
    "signing_key",
    "auth_key",
    "master_key",
)
# Of these no ending makes another word: "Passwörtern", "şifresi", "пароля".
UNBENT = frozenset(
    """
    password passwd passphrase passcode pass_word pwd mdp token secret apikey webhook bearer jwt
    salt seed hmac credential credentials creds login logins clave secreto
    """.split()
)
# So common that only what looks random behind it is one.
COMMON_KEYS = ("key", "keys", "code", "auth")
# Beside a key these say that people type it to join a network.
NETWORKS = tuple(
    """
    wifi wi-fi wlan w-lan wpa ssid psk pre-shared preshared vpn ipsec ikev l2tp radius hotspot
    network netzwerk réseau вайфа сети 无线 無線 와이파이 ワイファイ
    """.split()
)
NAMES = (*PASSWORDS, *SHORT_PASSWORDS, *PAIRS, *KEYS, *COMMON_KEYS)
# Behind these stand the words of a wallet.
SEEDS = tuple(
    word.replace("_", " ")
    for word in """
    seed mnemonic recovery phrase passphrase 助记词 助記詞 ニーモニック 니모닉 시드
    wiederherstellung récupération recuperación recupero recuperação herstel восстановлени
    мнемоник odzyskiwania kurtarma wallet bip39 bip-39 semilla semente ledger trezor metamask
    phantom twelve_words 12_words 24_words twenty-four_words zwölf_wörter 12_wörter 24_wörter
    12_mots 24_mots 12_palabras 12_palavras 12_parole 12_woorden 12_слов mnémonique mnemotechn
    mnémo sementi záloh återställning gjenopprett gendan palautus obnov frase_de_backup
    backup_phrase 복구 복원 復元 恢复 恢復
    """.split()
)
# Which link a name to its value.
LINKS = frozenset(
    """
    is was are be equals reads as to with using ist lautet lauten heisst heißt war auf mit est
    c'est vaut sera es era será son è e' era sono é são luidt wordt это равен такой jest brzmi to
    är lyder er lyder on je este e είναι هو هي הוא היא है là adalah คือ olarak = : ... … ....
    ..... -> => → ⇒ ➜ — – - | := ~> >
    """.split()
)
# These announce a value word by word, so that it may be any word.
ANNOUNCING = frozenset(
    """
    lautet lauten luidt brzmi lyder vaut reads equals = : ... … .... ..... -> => → ⇒ ➜ := ~>
    """.split()
)

# Behind a link these go on without saying anything yet.
FILLERS = frozenset(
    """
    now currently still just always again the my our your its a an new old same following simply
    literally actually really set called changed only both one: this jetzt noch immer neu neue
    der die das mein unser le la les mon notre actuellement maintenant toujours el los mi nuestra
    ahora siempre il lo mio ora o meu nossa agora de het mijn nu теперь сейчас moje teraz value
    user username
    """.split()
)
# No password, though it stands where one would.
PREDICATES = frozenset(
    """
    required optional missing wrong correct incorrect invalid valid empty blank null none nil
    true false weak strong short long secure insecure safe unsafe public private hidden visible
    plain plaintext cleartext hashed encrypted salted stored saved kept sent shown leaked exposed
    compromised expired stale outdated unknown known set unset reset rotated changed different
    identical same shared unique random generated temporary permanent static dynamic fine okay
    good bad great easy hard simple complex sensitive case-sensitive here there below above
    inside outside elsewhere somewhere everywhere never always only also still already again not
    too very quite more less than then when where what which who how why because since until
    unless while if and but or nor for from with without within into onto over under about after
    before between case string text number boolean integer object array bytes token password
    secret key value field column header cookie session user users username login email account
    server database file files vault config environment variable settings manager bcrypt argon
    scrypt pbkdf sha base base64 utf hex hexadecimal ascii unicode json yaml xml html http https
    jwt oauth saml ldap totp rsa ecdsa ed25519 aes hmac md5 uuid opaque signed unsigned bearer
    basic digest being been done used reused unused needed necessary enough allowed forbidden
    accepted rejected denied checked verified validated masked redacted obfuscated truncated
    logged printed ignored deleted removed gone lost forgotten found available unavailable
    supported unsupported deprecated mandatory provided given passed read written loaded injected
    mounted managed handled important critical obvious irrelevant relevant possible impossible
    wertlos falsch richtig korrekt leer abgelaufen ungültig erforderlich nötig geheim sicher
    unsicher gespeichert verschlüsselt geändert incorrecte correcte obligatoire requis expiré
    invalide vide incorrecta correcta obligatoria requerida caducada vacía sbagliata corretta
    obbligatoria scaduta vuota incorreta correta obrigatória expirada vazia verplicht onjuist
    verlopen leeg nieprawidłowe wymagane gerekli yanlış
    """.split()
)
MODAL = frozenset("can could may might must will shall should would does you your all any".split())

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
# (names, pieces, value) as in BESIDE of the public sets: issuers that these do not name, or know
# under fewer forms.
NAMED: tuple[tuple[str, str, str], ...] = (
    ("vercel", "vercel", r"[A-Za-z0-9]{24}"),
    ("pinecone|weaviate|qdrant|tavily|exa|voyage", "pinecone weaviate qdrant tavily exa voyage",
     _UUID + r"|[A-Za-z0-9_-]{32,80}"),
    ("nvidia|eleven[_-]?labs|eleven", "nvidia eleven", r"[A-Za-z0-9_-]{32,80}"),
    ("circle[_-]?(?:ci)?|buildkite|aiven|neon|langsmith|langchain|mistral|together|deepgram|assembly",
     "circle buildkite aiven neon langsmith langchain mistral together deepgram assembly",
     r"[A-Za-z0-9_-]{32,100}"),
    ("railway|postmark|render|koyeb|ngrok|linode|vultr|hetzner|hcloud|scaleway|cloudinary",
     "railway postmark render koyeb ngrok linode vultr hetzner hcloud scaleway cloudinary",
     _UUID + r"|[A-Za-z0-9_-]{24,100}"),
    ("wandb|weights|comet|neptune", "wandb weights comet neptune",
     r"[a-f0-9]{40}|[A-Za-z0-9]{25,60}"),
    ("twilio|segment|amplitude|mixpanel|pagerduty|opsgenie|datadog|dd_", "twilio segment amplitude "
     "mixpanel pagerduty opsgenie datadog dd_", r"[A-Za-z0-9_+-]{20,60}"),
)  # fmt: skip
