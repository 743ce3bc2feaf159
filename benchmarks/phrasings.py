"""Sentences that state a credential, and others that only speak of one, in many languages.

`{p}` and the like are values (`credentials.VALUES`). In each language the phrasings of the two
halves are different ones.
"""

# ruff: noqa: E501 - a sample is easier to read in one line

from __future__ import annotations

# language: (tuned phrasings, held phrasings)
STATED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "English": (
        (
            "my api key is {k}",
            "The db password is {p}.",
            "The password for the staging box is {p}, don't share it.",
            "admin / {p}",
            "pin {n}",
            "Use {p} as the password for the wiki.",
            "I set the root password to {p} yesterday.",
            "Here is the token: {t}",
            "log in as bob with password {p}",
            "The passphrase of the backup is {w}.",
            "our secret key is {k}, rotate it later",
            "the wifi password is {h}",
        ),
        (
            "creds for grafana: admin / {p}",
            "The PIN code for the vault is {n}.",
            "You can sign in using {p} as your passphrase.",
            "{p} is what the deploy user logs in with, that's the password",
            "I changed the postgres password from {p} to something else",
            "user: deploy pass: {p}",
            "hey, the access token you need is {t}",
            "Unlock the laptop with {n}, that is the pin.",
            "The api key we got from the vendor was {k}",
            "pw is {p} btw",
            "Login: admin, Password: {p}",
            "FYI the encryption key equals {x}",
            "the password: {h} (same as last year)",
            "for the VPN the shared secret would be {p}",
        ),
    ),
    "German": (
        (
            "Das Passwort für die Datenbank ist {p}.",
            "Das Passwort lautet: {p}",
            "Mein API-Schlüssel ist {k}, bitte nicht weitergeben.",
            "Der Token für Staging: {t}",
            "Die PIN ist {n}.",
            "Als Kennwort nehmen wir {p}.",
            "Kennwort vom Server: {p}",
        ),
        (
            "Melde dich mit dem Passwort {p} an.",
            "{p} ist das Kennwort für den Admin.",
            "Zugangsdaten: Benutzer anna, Passwort {p}",
            "Für den Login brauchst du den Zugangsschlüssel {k}.",
            "Unser Geheimschlüssel lautet {k}",
            "Der PIN-Code für den Tresor war {n}, glaube ich.",
            "Die Passphrase heißt {w}.",
        ),
    ),
    "French": (
        (
            "Le mot de passe de la base est {p}.",
            "Mot de passe : {p}",
            "Ma clé API est {k}, ne la partage pas.",
            "Le jeton d'accès est {t}.",
            "Le code PIN est {n}",
            "On utilise {p} comme mot de passe.",
        ),
        (
            "Connecte-toi avec le mot de passe {p}.",
            "{p} est le mot de passe administrateur.",
            "Identifiants : utilisateur anna, mdp {p}",
            "Voici la clé secrète à mettre en production : {k}",
            "La phrase secrète du coffre, c'est {w}.",
            "J'ai changé le mot de passe du serveur en {p} hier.",
        ),
    ),
    "Spanish": (
        (
            "La contraseña de la base de datos es {p}.",
            "Contraseña: {p}",
            "Mi clave de API es {k}, no la compartas.",
            "El token de acceso es {t}",
            "El PIN es {n}.",
            "Usa {p} como contraseña.",
        ),
        (
            "Entra con la contraseña {p}.",
            "{p} es la contraseña del administrador.",
            "Credenciales: usuario ana, clave {p}",
            "La clave secreta que nos dieron fue {k}.",
            "Cambié la contraseña del servidor a {p} ayer.",
            "La frase de contraseña del respaldo: {w}",
        ),
    ),
    "Italian": (
        (
            "La password del database è {p}.",
            "Parola d'ordine: {p}",
            "La mia chiave API è {k}, non condividerla.",
            "Il token di accesso è {t}",
            "Il PIN è {n}.",
            "Usiamo {p} come password.",
        ),
        (
            "Accedi con la password {p}.",
            "{p} è la password dell'amministratore.",
            "Credenziali: utente anna, password {p}",
            "La chiave segreta che ci hanno dato era {k}.",
            "Ieri ho impostato la password del server a {p}.",
            "La passphrase del backup: {w}",
        ),
    ),
    "Portuguese": (
        (
            "A senha do banco de dados é {p}.",
            "Senha: {p}",
            "Minha chave de API é {k}, não compartilhe.",
            "O token de acesso é {t}",
            "O PIN é {n}.",
            "Usamos {p} como senha.",
        ),
        (
            "Entre com a senha {p}.",
            "{p} é a senha do administrador.",
            "Credenciais: utilizador ana, palavra-passe {p}",
            "A chave secreta que recebemos foi {k}.",
            "Mudei a senha do servidor para {p} ontem.",
            "A frase secreta do backup: {w}",
        ),
    ),
    "Dutch": (
        (
            "Het wachtwoord van de database is {p}.",
            "Wachtwoord: {p}",
            "Mijn API-sleutel is {k}, niet delen.",
            "Het toegangstoken is {t}",
            "De pincode is {n}.",
            "We gebruiken {p} als wachtwoord.",
        ),
        (
            "Log in met het wachtwoord {p}.",
            "{p} is het wachtwoord van de beheerder.",
            "Inloggegevens: gebruiker anna, wachtwoord {p}",
            "De geheime sleutel die we kregen was {k}.",
            "Ik heb het wachtwoord van de server gisteren gewijzigd in {p}.",
            "De wachtwoordzin van de back-up: {w}",
        ),
    ),
    "Polish": (
        (
            "Hasło do bazy danych to {p}.",
            "Hasło: {p}",
            "Mój klucz API to {k}, nie udostępniaj.",
            "Token dostępu: {t}",
            "PIN to {n}.",
            "Używamy {p} jako hasła.",
        ),
        (
            "Zaloguj się hasłem {p}.",
            "{p} to hasło administratora.",
            "Dane logowania: użytkownik anna, hasło {p}",
            "Tajny klucz, który dostaliśmy, brzmi {k}.",
            "Wczoraj zmieniłem hasło serwera na {p}.",
            "Klucz dostępu do API jest taki: {k}",
        ),
    ),
    "Russian": (
        (
            "Пароль от базы данных {p}.",
            "Пароль: {p}",
            "Мой API-ключ {k}, никому не давай.",
            "Токен доступа: {t}",
            "Пин-код {n}.",
            "Пароль — {p}",
            "Используем {p} как пароль.",
        ),
        (
            "Заходи с паролем {p}.",
            "{p} — это пароль администратора.",
            "Данные для входа: пользователь anna, пароль {p}",
            "Секретный ключ, который нам дали, такой: {k}",
            "Вчера я сменил пароль сервера на {p}.",
            "Ключ доступа равен {k}",
        ),
    ),
    "Turkish": (
        (
            "Veritabanı şifresi {p}.",
            "Şifre: {p}",
            "API anahtarım {k}, kimseyle paylaşma.",
            "Erişim belirteci: {t}",
            "PIN kodu {n}.",
            "Parola olarak {p} kullanıyoruz.",
        ),
        (
            "{p} şifresiyle giriş yap.",
            "{p} yönetici parolasıdır.",
            "Giriş bilgileri: kullanıcı anna, parola {p}",
            "Bize verilen gizli anahtar şu: {k}",
            "Dün sunucunun şifresini {p} yaptım.",
            "Sunucu parolası = {p}",
        ),
    ),
    "Chinese": (
        (
            "数据库的密码是{p}。",
            "密码：{p}",
            "我的API密钥是 {k}，不要外传。",
            "访问令牌为{t}",
            "PIN码是{n}。",
            "我们用 {p} 作为密码。",
        ),
        (
            "请用密码 {p} 登录。",
            "{p} 是管理员密码。",
            "账号：anna，口令：{p}",
            "对方给的私钥是「{k}」。",
            "昨天我把服务器密码改成了{p}。",
            "密碼設為 {p}",
        ),
    ),
    "Japanese": (
        (
            "データベースのパスワードは{p}です。",
            "パスワード：{p}",
            "私のAPIキーは {k} です。共有しないでください。",
            "アクセストークンは{t}",
            "暗証番号は{n}です。",
            "パスワードには {p} を使います。",
        ),
        (
            "パスワード {p} でログインしてください。",
            "{p} が管理者のパスワードです。",
            "ユーザー名：anna、パスワード：「{p}」",
            "もらった秘密鍵は「{k}」でした。",
            "昨日サーバーのパスワードを {p} に変更しました。",
            "合言葉は {p}",
        ),
    ),
    "Korean": (
        (
            "데이터베이스 비밀번호는 {p}입니다.",
            "비밀번호: {p}",
            "내 API 키는 {k} 이야, 공유하지 마.",
            "액세스 토큰은 {t}",
            "핀 번호는 {n}입니다.",
            "{p} 를 비밀번호로 사용합니다.",
        ),
        (
            "비밀번호 {p} 로 로그인하세요.",
            "{p} 가 관리자 암호입니다.",
            "아이디: anna, 암호: {p}",
            "받은 비밀 키는 '{k}' 였습니다.",
            "어제 서버 비밀번호를 {p} 로 바꿨어요.",
            "API 키 = {k}",
        ),
    ),
    "further languages": (
        (
            "Lösenordet till databasen är {p}.",
            "Min API-nyckel är {k}.",
            "Heslo k databázi je {p}.",
            "Můj API klíč je {k}.",
            "Mật khẩu cơ sở dữ liệu là {p}.",
            "Khóa API của tôi là {k}.",
            "كلمة المرور لقاعدة البيانات هي {p}",
            "مفتاح API الخاص بي هو {k}",
            "कूटशब्द: {p}",
            "डेटाबेस का पासवर्ड {p} है।",
        ),
        (
            "Пароль від бази даних: {p}",
            "Мій ключ API — {k}",
            "Parola bazei de date este {p}.",
            "Cheia mea API este {k}.",
            "Kata sandi basis data adalah {p}.",
            "Kunci API saya: {k}",
            "Adgangskoden til databasen er {p}.",
            "Ο κωδικός πρόσβασης της βάσης είναι {p}.",
            "Tietokannan salasana on {p}.",
            "Passordet til serveren er {p}.",
            "Az adatbázis jelszava: {p}",
            "הסיסמה של מסד הנתונים היא {p}",
        ),
    ),
}
# How a value may be written in a sentence, by half; `plain` counts twice.
QUOTES = {
    "tune": ("{}", "{}", '"{}"', "`{}`"),
    "held": ("{}", "{}", "'{}'", "**{}**", "“{}”"),
}
# Weak passwords of people, with something that tells.
WEAK = (
    (
        "password: {h}",
        "DB_PASSWORD={h}",
        "the password is {h}",
        "login admin, password {h}",
        'password = "{h}"',
        "the guest password is {s}",
        "passwd={s}",
        "mysql -u root -p{h} shop",
        "postgres://app:{h}@db/shop",
        "The admin password is still {h}, change it",
        "user=root pass={h}",
    ),
    (
        "pwd: {H}",
        "my passphrase is {H} as always",
        "we kept {H} as the password for the printer",
        "root:{H}",
        "username: sa password: {H}",
        "default login is admin with password {H}",
        '{"user": "sa", "pwd": "{H}"}',
        "ROOT_PASS='{H}'",
        "the pw of the NAS is {s}",
        "htpasswd -b users.txt bob {H}",
        "ssh pass for pi is {H}",
        "IDENTIFIED BY '{H}'",
    ),
)
SEED = (
    (
        "seed phrase: {m}",
        "MNEMONIC={m}",
        'MNEMONIC="{m}"',
        "my mnemonic is {m}",
        "seed words: {m}",
        "recovery phrase: {m}",
        '"mnemonic": "{m}"',
        "The wallet's seed phrase is {m}.",
    ),
    (
        "here are the 12 words of my wallet: {m}",
        "backup phrase ({m})",
        "WALLET_SEED='{m}'",
        "Write this recovery phrase down:\n{m}",
        "my metamask secret recovery phrase is: {m}",
        "mnemonic phrase -> {m}",
        "mnemonic: >-\n  {m}",
        'const mnemonic = "{m}";',
        "hardhat accounts: { mnemonic: '{m}' }",
        "ledger seed = {m}",
    ),
)
# Tables, the value on the next line, names with something in between, arrows.
TABLES = (
    (
        "| user | password |\n|------|----------|\n| app | {p} |",
        "| service | user | password |\n|---|---|---|\n| db | app | {p} |\n| cache | root | {p} |",
        "| Key | Value |\n| --- | --- |\n| API key | {k} |\n| region | eu-west-1 |",
        "user,password,role\napp,{p},admin",
        "host\tuser\tpassword\ndb1\tapp\t{p}",
        "password   {p}\nuser       app",
        "USER      PASSWORD\napp       {p}",
        "| password | {p} |",
        "name;token\nci;{t}",
    ),
    (
        "| Env | Login | Passwd | Notes |\n|:--|:-:|:-:|--:|\n| prod | root | `{p}` | rotate |",
        "|Secret|Where|\n|-|-|\n|{k}|billing|",
        "id,email,pwd,active\n7,a@example.org,{p},1\n8,b@example.org,{p},0",
        '"login","secret","zone"\n"app","{k}","eu"',
        "account\tapi_key\tplan\nacme\t{k}\tpro",
        "SERVICE    LOGIN    PASS\nmysql      root     {p}\nredis      -        {p}",
        "+------+------------+\n| user | password   |\n+------+------------+\n| app  | {p} |\n+------+------------+",
        "<tr><th>User</th><th>Password</th></tr><tr><td>app</td><td>{p}</td></tr>",
        "Token      : {t}\nExpires    : never",
        "login|credential|expires\nci|{t}|2027-01-01",
    ),
)
NEXT_LINE = (
    (
        "Password:\n{p}",
        "API key:\n  {k}",
        "Token:\n\n{t}",
        "The password is:\n{p}\nDo not share it.",
        "## Password\n\n{p}",
        "Secret key:\n```\n{k}\n```",
        "password: |\n  {p}",
        "DB password\n{p}",
    ),
    (
        "Your new credentials\nUsername:\napp\nPassword:\n{p}",
        "**API token**\n`{t}`",
        "### Access key\n> {k}",
        "Passphrase =\n    {p}",
        "client_secret: >\n  {k}",
        "Enter PIN:\n{n}",
        "<dt>Password</dt>\n<dd>{p}</dd>",
        "Here's the admin login:\n  admin\n  password:\n    {p}",
        "Bearer token below.\n{j}",
        "- password\n    - {p}",
    ),
)
BETWEEN = (
    (
        "password (prod): {p}",
        "password -> {p}",
        "password => {p}",
        "API key (staging) = {k}",
        "token → {t}",
        "password [db1]: {p}",
        "- **Password:** {p}",
        "password for app: {p}",
        "- [ ] password: {p}",
        "db-password ... {p}",
    ),
    (
        "Password (new, since March): {p}",
        "the password --> {p}",
        "secret key ⇒ {k}",
        "creds: app / {p}",
        "* _API key_ – `{k}`",
        "PASSWORD OF ROOT: {p}",
        "password for user `app` on db1 = {p}",
        "token/prod: {t}",
        "password «{p}»",
        "pw=>{p}",
        "Passwort (alt): {p}",
    ),
)
# Prose about credentials that states none, by language.
SPOKEN: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "English": (
        (
            "The password field must be at least 12 characters.",
            "Rotate the API key every 90 days.",
            "We use a token bucket to limit requests.",
            "The password is hashed with argon2id before it is stored.",
            "Never commit secrets or tokens to the repository.",
            "Reset the password to continue.",
            "The token is refreshed automatically when it expires.",
            "A PIN is required for admins.",
            "The API key is read from the environment.",
            "Passwords are rotated by the platform team, see the runbook.",
            "password: required for administrators",
        ),
        (
            "Users forget their passphrase, so recovery codes are printed once.",
            "The secret to success is patience.",
            "Our tokenizer splits each key into tokens; a token is about four characters.",
            "The password is wrong, please try again.",
            "Primary key and foreign key must be of the same type.",
            "Password managers fill the login form by its autocomplete attribute.",
            "The access token is opaque and expires after fifteen minutes.",
            "Key insight: the secret manager is slow under load.",
            "token: the smallest unit of text that the model sees",
            "The pin is soldered to ground, pin 13 drives the LED.",
            "Whoever owns the secret santa list keeps the password secret.",
        ),
    ),
    "German": (
        (
            "Das Passwort muss mindestens zwölf Zeichen lang sein.",
            "Der API-Schlüssel wird alle 90 Tage gewechselt.",
            "Passwörter werden niemals im Klartext gespeichert.",
            "Das Passwort ist abgelaufen.",
        ),
        (
            "Der Token läuft nach fünfzehn Minuten ab.",
            "Bitte gib dein Kennwort ein, um fortzufahren.",
            "Der Schlüssel zum Erfolg ist Geduld.",
            "Das Passwort ist falsch, versuche es erneut.",
        ),
    ),
    "French": (
        (
            "Le mot de passe doit contenir au moins douze caractères.",
            "La clé API est renouvelée tous les 90 jours.",
            "Le jeton est expiré.",
        ),
        (
            "Veuillez saisir votre mot de passe pour continuer.",
            "Le mot de passe est incorrect, réessayez.",
            "La clé primaire est générée automatiquement.",
        ),
    ),
    "Spanish": (
        (
            "La contraseña debe tener al menos doce caracteres.",
            "La clave de API se renueva cada 90 días.",
            "El token ha caducado.",
        ),
        (
            "Introduce tu contraseña para continuar.",
            "La contraseña es incorrecta, inténtalo de nuevo.",
            "La clave primaria es autogenerada.",
        ),
    ),
    "Italian": (
        (
            "La password deve contenere almeno dodici caratteri.",
            "La chiave API viene rinnovata ogni 90 giorni.",
        ),
        (
            "Inserisci la password per continuare.",
            "La password è errata, riprova.",
        ),
    ),
    "Portuguese": (
        (
            "A senha deve ter pelo menos doze caracteres.",
            "A chave de API é renovada a cada 90 dias.",
        ),
        (
            "Digite sua senha para continuar.",
            "A senha é obrigatória para administradores.",
        ),
    ),
    "Dutch": (
        (
            "Het wachtwoord moet minstens twaalf tekens lang zijn.",
            "De API-sleutel wordt elke 90 dagen vervangen.",
        ),
        (
            "Voer je wachtwoord in om door te gaan.",
            "Het wachtwoord is verlopen, vraag een nieuw aan.",
        ),
    ),
    "Polish": (
        (
            "Hasło musi mieć co najmniej dwanaście znaków.",
            "Klucz API jest zmieniany co 90 dni.",
        ),
        (
            "Wpisz hasło, aby kontynuować.",
            "Hasło jest nieprawidłowe, spróbuj ponownie.",
        ),
    ),
    "Russian": (
        (
            "Пароль должен содержать не менее двенадцати символов.",
            "Ключ API меняется каждые 90 дней.",
        ),
        (
            "Введите пароль, чтобы продолжить.",
            "Пароль неверный, попробуйте ещё раз.",
        ),
    ),
    "Turkish": (
        (
            "Şifre en az on iki karakter olmalıdır.",
            "API anahtarı her 90 günde bir yenilenir.",
        ),
        (
            "Devam etmek için şifrenizi girin.",
            "Parola yanlış, tekrar deneyin.",
        ),
    ),
    "Chinese": (
        (
            "密码必须至少包含十二个字符。",
            "API密钥每90天轮换一次。",
            "我们决定把会话存到数据库里，令牌过期后自动刷新。",
        ),
        (
            "请输入密码以继续。",
            "密码是必填项，不能为空。",
            "用户忘记密码时会收到一封重置邮件。",
        ),
    ),
    "Japanese": (
        (
            "パスワードは12文字以上でなければなりません。",
            "APIキーは90日ごとに更新します。",
            "トークンの有効期限が切れると自動的に再取得されます。",
        ),
        (
            "続行するにはパスワードを入力してください。",
            "パスワードは正しくありません。",
            "このメソッドはトークンを引数として受け取ります。",
        ),
    ),
    "Korean": (
        (
            "비밀번호는 최소 12자 이상이어야 합니다.",
            "API 키는 90일마다 교체합니다.",
        ),
        (
            "계속하려면 비밀번호를 입력하세요.",
            "비밀번호는 암호화되어 저장됩니다.",
        ),
    ),
    "further languages": (
        (
            "Lösenordet måste vara minst tolv tecken långt.",
            "Heslo musí mít alespoň dvanáct znaků.",
            "Mật khẩu phải có ít nhất mười hai ký tự.",
            "يجب أن تتكون كلمة المرور من اثني عشر حرفا على الأقل.",
            "पासवर्ड कम से कम बारह अक्षरों का होना चाहिए।",
        ),
        (
            "Пароль має містити щонайменше дванадцять символів.",
            "Parola trebuie să aibă cel puțin douăsprezece caractere.",
            "Kata sandi harus terdiri dari minimal dua belas karakter.",
            "Salasanan on oltava vähintään kaksitoista merkkiä pitkä.",
            "Ο κωδικός πρόσβασης πρέπει να έχει τουλάχιστον δώδεκα χαρακτήρες.",
            "Adgangskoden skal være på mindst tolv tegn.",
        ),
    ),
}
