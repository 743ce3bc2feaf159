"""Configuration, private keys and dumps of an environment of the held half.

Not to be read by anyone who writes rules. `{q}` and the like are values
(`held_credentials.VALUES`).
"""

# ruff: noqa: E501 - a sample is easier to read in one line

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

CONFIGURATION = (
    "crm:\n  target: dev\n  outputs:\n    dev:\n      type: postgres\n      user: dbt\n      password: {p}\n      schema: analytics",
    "[core]\nfernet_key = {KEY}\nload_examples = False",
    "[security]\nadmin_user = admin\nadmin_password = {p}\nsecret_key = {k}",
    "    secureJsonData:\n      password: {p}\n    jsonData:\n      database: crm",
    "scrape_configs:\n- job_name: crm\n  basic_auth:\n    username: prom\n    password: {p}",
    "remote_write:\n- url: https://mimir.example.com/push\n  authorization:\n    credentials: {t}",
    '[[outputs.influxdb_v2]]\n  urls = ["http://influx-0:8086"]\n  token = "{t}"\n  organization = "acme"',
    "output.elasticsearch:\n  hosts: [es-0]\n  username: beats\n  password: {p}",
    "user default off\nuser worker on >{q} ~jobs:* +@all",
    "default_user = crm\ndefault_pass = {q}",
    "ssl.keystore.location=/etc/kafka/keystore.p12\nssl.keystore.password={q}\nssl.key.password={q}",
    'KafkaServer {\n  org.apache.kafka.common.security.plain.PlainLoginModule required\n  username="broker"\n  password="{q}";\n};',
    "authorization {\n  user: worker\n  password: {q}\n}",
    "[smtp.example.com]:587 noreply@example.com:{q}",
    "account default\nhost smtp.example.com\nuser noreply@example.com\npassword {q}",
    'set imap_user = "anna@example.com"\nset imap_pass = "{q}"',
    "poll imap.example.com proto IMAP user anna password {q} ssl",
    "https://jsmith:{t}@git.example.com",
    '{\n  "http-basic": {\n    "repo.example.com": {\n      "username": "robot",\n      "password": "{q}"\n    }\n  }\n}',
    'BUNDLE_GEMS__EXAMPLE__COM: "robot:{q}"',
    '[registries.acme]\ntoken = "Bearer {t}"',
    "realm=Sonatype Nexus\nhost=nexus.example.com\nuser=robot\npassword={q}",
    "channels:\n- https://conda.example.com/t/{t}/acme\n- defaults",
    "[web]\nweb1 ansible_host=192.168.10.11 ansible_user=root ansible_ssh_pass={q}",
    "chpasswd:\n  expire: false\n  users:\n  - name: root\n    password: {q}\n    type: text",
    "rootpw --plaintext {q}\ntimezone Europe/Berlin",
    "d-i passwd/root-password password {q}\nd-i passwd/make-user boolean false",
    "<AdministratorPassword>\n  <Value>{q}</Value>\n  <PlainText>true</PlainText>\n</AdministratorPassword>",
    "[wifi-security]\nkey-mgmt=wpa-psk\npsk={q}",
    '192.168.10.1 203.0.113.9 : PSK "{q}"',
    "client radius-proxy {\n  ipaddr = 192.168.10.30\n  secret = {k}\n}",
    'key "tsig-update" {\n  algorithm hmac-sha256;\n  secret "{KEY}";\n};',
    "protocol=dyndns2\nlogin=anna\npassword='{p}'\nhome.example.com",
    "username=svc-backup\npassword={q}\ndomain=CORP",
    "interface=wlan0\nssid=Lab\nwpa=2\nwpa_passphrase={q}",
    'object ApiUser "director" {\n  password = "{p}"\n  permissions = [ "*" ]\n}',
    "DBHost=localhost\nDBName=zabbix\nDBUser=zabbix\nDBPassword={q}",
    '"rpc-authentication-required": true,\n"rpc-username": "anna",\n"rpc-password": "{p}",',
    "enable-rcon=true\nrcon.port=25575\nrcon.password={q}",
    "<Config>\n  <Port>8989</Port>\n  <ApiKey>{x}</ApiKey>\n</Config>",
    '{\n  "discord": {\n    "token": "{t}",\n    "prefix": "!"\n  }\n}',
    '"rest-client.environmentVariables": {\n  "prod": { "host": "api.example.com", "token": "{t}" }\n}',
    '{"dev": {"host": "localhost", "username": "anna", "password": "{p}"}}',
    '{"key": "apiKey", "value": "{k}", "type": "secret", "enabled": true}',
    "models:\n- name: gpt-large\n  provider: openai\n  apiKey: {k}",
    "model_list:\n- model_name: fast\n  litellm_params:\n    model: azure/fast\n    api_key: {k}",
    "sdk.dir=/opt/android\nMAPS_API_SECRET={k}",
    "// Secrets.xcconfig\nAPI_SECRET = {k}\nAPI_HOST = api.example.com",
    "<key>APIClientSecret</key>\n<string>{k}</string>",
    "development:\n  secret_key_base: {x}\n  smtp_password: {p}",
    'config :crm, CrmWeb.Endpoint,\n  secret_key_base: "{k}{k}"',
    'config :crm, Crm.Repo,\n  username: "crm",\n  password: "{p}",\n  pool_size: 10',
    'cfg := Config{Addr: ":8080", DBUser: "crm", DBPassword: "{p}"}',
    '$pdo = new PDO("mysql:host=mysql-0;dbname=crm", "crm", "{p}");',
    'my $dbh = DBI->connect("dbi:Pg:dbname=crm;host=pg-primary", "crm", "{p}");',
    'con <- dbConnect(RPostgres::Postgres(), user = "crm", password = "{p}", host = "pg-primary")',
    'Mysql2::Client.new(host: "mysql-0", username: "crm", password: "{p}")',
    "mysql.createConnection({ host: 'mysql-0', user: 'crm', password: '{p}', database: 'crm' })",
    "nodemailer.createTransport({ host: 'smtp.example.com', auth: { user: 'noreply', pass: '{p}' } })",
    'driver.find_element(By.ID, "password").send_keys("{p}")',
    "cy.get('#user').type('jsmith')\ncy.get('#password').type('{p}')",
    "Input Text      id=user    jsmith\nInput Password  id=pw      {p}",
    'When I fill in "Password" with "{p}"\nAnd I press "Sign in"',
    'conn.Open "Driver={SQL Server};Server=sql-prod-02;Uid=reporting;Pwd={q};"',
    'genai.configure(api_key="{k}")',
    "const client = new Anthropic({ apiKey: '{k}' });",
    'paramiko_client.connect("web1", username="ops", password="{p}", timeout=5)',
    'ftp = FTP("ftp.partner.example.com")\nftp.login("upload", "{p}")',
    "app.config['SECRET_KEY'] = '{k}'",
    'val hmacSecret = "{x}"\ninstall(Authentication) { jwt { } }',
    "ldap:\n  bind_dn: cn=svc-crm,ou=services\n  bind_password: {p}",
    "authelia:\n  jwt_secret: {k}\n  session:\n    secret: {k}",
    "otpauth://totp/Acme:anna@example.com?secret={OTP}&issuer=Acme",
    "apiVersion: v1\nkind: Secret\nmetadata:\n  name: smtp\nstringData:\n  SMTP_PASSWORD: {p}\n  SMTP_USER: noreply",
    "  web:\n    build: .\n    environment:\n      SESSION_KEY: {x}\n      PORT: 3000",
)
PEMS = (
    "PRIVATE KEY",
    "RSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "EC PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
)
# How a key is found in a text: printed by a tool, put into a file of another kind, cut off.
CUTS: Sequence[Callable[[list[str]], list[str]]] = (
    lambda lines: ["● Read(deploy/id_rsa)", *(f"     {line}" for line in lines)],
    lambda lines: ["$ cat deploy.key", *lines],
    lambda lines: [
        "$ kubectl get secret tls -o yaml",
        "  tls.key: |",
        *(f"    {x}" for x in lines),
    ],
    lambda lines: ["Why is this key refused as invalid?", "```", *lines, "```"],
    lambda lines: ['PRIVATE_KEY="' + "\\n".join(lines) + '"'],
    lambda lines: ['"privateKey": "' + "\\n".join(lines) + '\\n",'],
    lambda lines: ["const key = `" + lines[0], *lines[1:-1], lines[-1] + "`;"],
    lambda lines: ["cat > key.pem <<'EOF'", *lines, "EOF"],
    lambda lines: [f"{number:>4} | {line}" for number, line in enumerate(lines, 1)],
    lambda lines: [
        "- name: install key",
        "  copy:",
        "    content: |",
        *(f"      {x}" for x in lines),
    ],
    lambda lines: ["key = (", *(f'    "{line}\\n"' for line in lines), ")"],
    lambda lines: ["<key>", *lines, "</key>", "remote vpn.example.com 1194"],
    lambda lines: ["        private_key: |", *(f"\t\t{line}" for line in lines)],
    lambda lines: ["@@ -0,0 +1,9 @@", *(f"+{line}" for line in lines), "+"],
    lambda lines: ["$ head -6 server.key", *lines[:6], "$ "],
    lambda lines: ["... (first lines cut)", *lines[3:]],
    lambda lines: ["web1: " + lines[0], *(f"web1: {line}" for line in lines[1:])],
)
# Names of an environment and the letter of their value.
NAMES = (
    ("CRM_DB_PASSWORD", "q"),
    ("MYSQL_ROOT_PASSWORD", "q"),
    ("MAIL_PASSWORD", "q"),
    ("LDAP_BIND_PASSWORD", "q"),
    ("ANTHROPIC_API_KEY", "k"),
    ("MAPS_API_KEY", "k"),
    ("OAUTH_CLIENT_SECRET", "k"),
    ("SLACK_BOT_TOKEN", "t"),
    ("GITHUB_TOKEN", "t"),
    ("SENTRY_AUTH_TOKEN", "t"),
    ("SESSION_KEY", "x"),
    ("HMAC_SECRET", "x"),
    ("AWS_SECRET_ACCESS_KEY", "AWS"),
    ("AZURE_CLIENT_SECRET", "AZURE"),
    ("WIKI_ADMIN_PASSWORD", "h"),
    ("BACKUP_PASSPHRASE", "q"),
)
# Harmless ones between them.
REST = (
    ("SHELL", "/bin/bash"),
    ("USER", "ops"),
    ("PWD", "/srv/crm"),
    ("TERM", "xterm-256color"),
    ("RAILS_ENV", "production"),
    ("LOG_FORMAT", "json"),
    ("CRM_DB_HOST", "pg-primary"),
    ("REPLICAS", "3"),
    ("KUBERNETES_PORT", "tcp://10.96.0.1:443"),
)
# The text before the lines, each of them, and the text after them.
LAYOUTS = (
    ("ops@web1:/srv/crm$ env | sort\n", "<n>=<v>", "\nops@web1:/srv/crm$"),
    ("● Bash(cat .env.production)\n", "  ⎿  <n>=<v>", ""),
    ("PS C:\\crm> Get-ChildItem Env:\n\n", "<n>    <v>", "\n"),
    ("# .env.local\n", "<n>=<v>", "\n"),
    ("set -a\n", '<n>="<v>"', "\nset +a"),
    ("FROM node:22\n", "ENV <n>=<v>", "\nCMD node server.js"),
    ("[program:crm]\nenvironment=\n", '  <n>="<v>",', "\nautostart=true"),
    ("env_variables:\n", '  <n>: "<v>"', "\nruntime: python312"),
    ("module.exports = { apps: [{ env: {\n", '  <n>: "<v>",', "\n} }] }"),
    ("env = {\n", '  <n> = "<v>"', "\n}"),
    ('"environment": [\n', '  { "name": "<n>", "value": "<v>" },', "\n]"),
    ("{\n", '  "<n>": "<v>",', '\n  "STAGE": "prod"\n}'),
    ("| Variable | Value |\n|---|---|\n", "| <n> | <v> |", ""),
    ("os.environ.update({\n", '    "<n>": "<v>",', "\n})"),
    ("fish: set -x\n", "SET <n> <v>", ""),
    ("+ docker run --rm \\\n", "  -e <n>=<v> \\", "\n  crm:42"),
    ("$ cat /proc/1/environ | tr '\\0' '\\n'\n", "<n>=<v>", ""),
    ("diff --git a/.env b/.env\n@@ -1,6 +0,0 @@\n", "-<n>=<v>", ""),
)


def dumps(each: int = 4) -> list[str]:
    """Return `each` dumps of every layout: three credentials and four harmless lines, mixed."""
    chance = random.Random(157)
    found = []
    for head, line, tail in LAYOUTS:
        for _ in range(each):
            secret = [(name, f"{{{letter}}}") for name, letter in chance.sample(NAMES, 3)]
            pairs = secret + chance.sample(REST, 4)
            chance.shuffle(pairs)
            lines = [line.replace("<n>", name).replace("<v>", value) for name, value in pairs]
            found.append(head + "\n".join(lines) + tail)
    return found
