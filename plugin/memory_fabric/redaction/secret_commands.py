"""Expressions, not compiled, for secrets on the command lines of programs.

The cheap look asks for program and sign, the rules for the whole expression.
"""

# ruff: noqa: E501 - a row of a table is easier to read in one line

from __future__ import annotations

# A value in quotes, or up to the next blank; one that begins with a hyphen is another option.
VALUE = (
    r"(?:\\?\"([^\"\n\\]{3,255})\\?\"|\\?'([^'\n\\]{3,255})\\?'|"
    r"([^\s\"'\\|;<>&-][^\s\"'\\|;<>]{2,255}))"
)
# Between a program and its option: the same command, on the same line.
_ON = r"\b[^\n|;&]{0,200}?\s"
_USER = r"[^\s:\"'%/,]{1,80}"

# (programs, signs that must be in the text, what leads to the value).
COMMANDS: tuple[tuple[str, str, str], ...] = (
    ("mysql mysqldump mysqladmin mysqlimport mysqlsh mysqlslap mysqlcheck mariadb mariadb-dump mariadb-admin 7z 7za 7zr 7zz rar unrar", "-p", _ON + "-p"),
    ("mysqladmin", "password", _ON + r"password\s{1,4}"),
    ("sshpass", "-p", r"\s{1,4}-p ?"),
    ("docker podman buildah skopeo nerdctl helm oc odo crane oras cf", "-p", _ON + r"login\b[^\n|;&]{0,200}?\s-p[ =]?"),
    ("mycli pgcli usql altool notarytool mongo mongosh mongodump mongorestore mongoexport mongoimport mongostat cqlsh twine az oc veracrypt beeline hive rabbitmqadmin smbmap crackmapexec netexec nxc evil-winrm rdesktop ncftp ncftpget ncftpput nodetool jmxterm psexec psexec64 winexe svn useradd usermod supabase certutil wsl sqlpackage hydra pgloader clickhouse openfortivpn argocd cf snowsql influx couchbase-cli cbq ipmitool redfishtool sc", "-p", _ON + r"-p[ =]?"),
    ("sqlcmd bcp osql isql tsql zip unzip zipcloak mosquitto_pub mosquitto_sub mosquitto_rr ipmitool ssh-keygen sqsh psftp", "-P", _ON + r"-P ?"),
    ("ssh-keygen", "-N", _ON + r"-N ?"),
    ("redis-cli valkey-cli keydb-cli", "-a", _ON + r"-a "),
    ("redis-cli valkey-cli keydb-cli", "", r"\b(?:[^\n;&]{0,200}?\s)?(?:-x )?(?i:auth) (?:default )?"),
    ("ldapsearch ldapadd ldapmodify ldapdelete ldapwhoami ldappasswd ldapcompare ldapmodrdn kadmin stunnel dsmod", "-w", _ON + r"-w ?"),
    ("ldappasswd slappasswd", "-s", _ON + r"-s ?"),
    ("smbclient smbget rpcclient winexe net", "%", _ON + rf"(?:-U|--user)[ =]?[\"']?{_USER}%"),
    ("curl wget http https xh curlie aria2c etcdctl nats restish", " -", _ON + r"(?:-[a-zA-Z]{0,6}[uU]|-a|-E|--user|--auth|--proxy-user|--cert)[ =]?[\"']?(?:[^\s:\"'\\%]{0,80}):"),
    ("lftp", ",", _ON + rf"-u ?{_USER},"),
    ("ftp tnftp", "-u", _ON + rf"-u ?{_USER}[:/, ]"),
    ("xfreerdp xfreerdp3 wlfreerdp mstsc freerdp cmdkey wmic signtool", "/p", _ON + r"/p(?:ass(?:word)?)?[: ]"),
    ("net", "use", r" use\b[^\n|;&]{0,100}?\s(?=[^\n]{0,80}/user)(?![/\\])"),
    ("net", "user", r" user (?:/domain )?[\w.-]{1,40} (?![/\\])"),
    ("net", "use", r" use\b[^\n|;&]{0,100}?/user:\S{1,60} (?![/\\])"),
    ("signtool", "/p", _ON + r"/p "),
    ("openssl", "-k", _ON + r"-k "),
    ("openssl", "-K", _ON + r"-K "),
    ("openssl", "pass:", r"[^\n]{0,300}?\bpass:"),
    ("htpasswd", "-", r"\s{1,4}-[A-Za-z]{0,6}b[A-Za-z]{0,6}\s{1,4}(?:-[A-Za-z] ?\d{0,3}\s)?(?:[^\s|;&]{1,200}\s{1,4}){1,2}(?=(?:\S+|'[^'\n]+'|\"[^\"\n]+\")\s*(?:$|[\n|;&>`]))"),
    ("vault", "login", _ON.removesuffix(r"\s") + r"login (?:-[\w-]{1,30}(?:=\S{1,60})? ){0,3}(?:token=)?"),
    ("vault bao", "=", r" (?:kv )?(?:put|patch) [^\n|;&]{1,300}?\s(?!(?:user|username|login|email|host|port|url|name|role|type|path|id)=)[\w.-]{1,40}=(?![\"']?\[redacted)"),
    ("consul etcdctl nats", "put ", r" (?:kv )?put [\w./-]{0,80}(?:pass|password|secret|token|key) "),
    ("aws", "--value", r" ssm put-parameter\b[^\n|;&]{0,200}?\s--value[ =]"),
    ("pulumi", "--secret", r" config set --secret [\w:.-]{1,60} "),
    ("hatch", "-a", _ON + r"-a "),
    ("ansible-vault", "encrypt_string", r" encrypt_string "),
    ("rar", "-hp", _ON + r"-hp"),
    ("qpdf", "--encrypt", r"\b[^\n]{0,200}? --encrypt "),
    ("qpdf", "--encrypt", r"\b[^\n]{0,200}? --encrypt (?:\[redacted: \w+\]|\S{3,200}) "),
    ("pdftk", "_pw", r"\b[^\n|;&]{0,300}? (?:user|owner|input)_pw (?!\[redacted)"),
    ("openssl", "passwd", r" passwd (?:-\w{1,8} ){0,3}"),
    ("mkpasswd", "", r" (?:-m ?[\w-]{1,20} |--method=\S{1,20} )?"),
    ("rabbitmqctl", "authenticate_user", r" authenticate_user \S{1,60} "),
    ("mosquitto_passwd", "-b", r" -b \S{1,200} \S{1,60} "),
    ("swaks", "-ap", _ON + r"-ap "),
    ("smbclient", "//", r" [\"']?//\S{1,100} (?=[^\s-])"),
    ("ftp lftp", "user ", r"> user \S{1,40} "),
    ("rclone", "obscure", r" obscure "),
    ("rclone", "pass", r" config (?:create|update|password)\b[^\n|;&]{0,200}?\bpass(?:word)? "),
    ("aws", "configure", r" configure set [\w.-]{0,60}(?:key|token|secret)[\w.-]{0,20} "),
    ("npm pnpm yarn", "set", _ON + r"set [\"']?\S{0,120}_?(?:authToken|_auth|_password|npmAuthToken)[\"']?[ =]"),
    ("poetry", "config", r" config pypi-token\.[\w.-]{1,40} "),
    ("poetry", "config", r" config http-basic\.[\w.-]{1,40} \S{1,80} "),
    ("cargo", "login", r" login (?:--registry[ =]\S{1,40} )?(?:-- )?"),
    ("dotnet nuget choco", "-k", _ON + r"-k "),
    ("dotnet nuget choco", "key", _ON + r"(?:setapikey|-apikey) "),
    ("doctl fly flyctl vercel glab rancher gitlab-runner railway northflank hcloud", "-t", _ON + r"-t[ =]"),
    ("netlify", "--auth", _ON + r"--auth[ =]"),
    ("consul nomad", "-token", _ON + r"-token[ =]"),
    ("twilio", "login", r" login AC\w{1,40} "),
    ("pulumi", "secret", _ON + r"--secret [\w:.-]{1,60} "),
    ("pulumi", "secret", r" config set [\w:.-]{1,60} (?=\S+ --secret)"),
    ("rabbitmqctl", "add_user", _ON + r"add_user \S{1,60} "),
    ("rabbitmqctl", "change_password", _ON + r"change_password \S{1,60} "),
    ("mc mcli", "alias", r" alias set \S{1,40} \S{1,100} \S{3,60} "),
    ("mc mcli", "admin", r" admin user add \S{1,40} \S{3,60} "),
    ("nmcli", "password", _ON + r"password "),
    ("nmcli", "psk", _ON + r"\S{0,30}psk "),
    ("wpa_passphrase", "", r" \S{1,40} "),
    ("iwconfig", "key", _ON + r"key (?:s:)?"),
    ("sqlplus sqlldr exp imp expdp impdp rman", "/", r"\b(?: -\w{1,3})?\s{1,2}[\"']?[\w.-]{1,40}/(?=[^\s/]{3,60}@|[^\s/@]{3,60}[\"']?\s*(?:$|[\n|;&]| \w{2,12}=))"),
    ("pdftotext pdfimages pdftoppm pdfinfo", "-", _ON + r"-[ou]pw "),
    ("bw", "login", r" login [^\s@]{1,60}@\S{1,60} "),
    ("bw", "unlock", r" unlock "),
    ("hadoop", "-value", _ON + r"-value "),
    ("snmpwalk snmpget snmpset snmpbulkwalk", "-A", _ON + r"-A "),
    ("snmpwalk snmpget snmpset snmpbulkwalk", "-X", _ON + r"-X "),
    ("snmpwalk snmpget snmpset snmpbulkwalk", "-c", _ON + r"-c "),
    ("x11vnc vncviewer vncpasswd tightvncviewer", "-", _ON + r"-p(?:asswd|assword)? "),
    ("keytool jarsigner apksigner", "-", _ON + r"--?(?:store|key|src|dest|ks|srcstore|deststore)-?pass (?:pass:)?"),
    ("gh", "with-token", r"\b[^\n|;&]{0,100}--with-token <<< ?"),
    ("op", "signin", _ON + r"signin \S{1,60} \S{1,60} A3-\S{1,60} "),
    ("kinit", "<<<", r"\b[^\n|;&]{0,100}<<< ?"),
    ("zerotier-one dropbear stripe", "-p", _ON + r"-p "),
    ("impacket-psexec impacket-wmiexec impacket-smbexec psexec.py wmiexec.py smbexec.py secretsdump.py", ":", _ON + r"[\"']?[\w./-]{1,60}:(?=[^\s@]{3,60}@)"),
    ("echo printf", "|", r" (?:-n |[\"']?%s(?:\\n)?[\"']? )?(?=(?:\"[^\"\n]{4,200}\"|'[^'\n]{4,200}'|[^\s\"'|]{4,200}) ?\| ?(?:sudo )?(?:sudo -S|passwd --stdin|gh secret|docker login|podman login|helm registry|cryptsetup|kinit|gh auth|glab auth|gpg |vault |su |openssl |smbpasswd|pass insert|security |aws ecr|ansible-vault|flyctl|wrangler secret|heroku|npx wrangler|nerdctl login|buildah login|kubectl create secret|gcloud secrets|doppler|xargs))"),
    ("echo printf", "chpasswd", rf" (?:-[ne] )?[\"']?{_USER}:(?=[^\n|]{{3,100}}\| ?(?:sudo )?chpasswd)"),
    ("chpasswd", "<<<", rf"\b[^\n|;&]{{0,60}}<<< ?[\"']?{_USER}:"),
    ("convertto-securestring", "", r" (?:-String )?(?=[\"'])"),
    ("composer bundle", "config", r" config (?:--?\w+ )?(?:set )?http-basic\.\S{1,80} \S{1,80} "),
    ("bundle", "config", rf" config (?:--?\w+ )?(?:set )?\S{{1,80}} {_USER}:"),
    ("schtasks", "/rp", _ON + r"/rp "),
    ("echo printf", "<(", r" (?:-[ne]+ )?(?=[^\s()]{4,200}\))"),
    ("echo printf", "|", r" (?:-[ne]+ )?(?=(?:\"[^\"\n]{4,200}\"|'[^'\n]{4,200}'|[^\s\"'|]{4,200}) ?\|[^\n|]{0,80}?\b(?:password|passwd|passphrase|secrets?|token|login|auth|stdin|credentials?)\b)"),
    ("passwd cryptsetup sudo docker podman gpg keepassxc-cli secret-tool wrangler age", "<<<", r"\b[^\n|;&]{0,100}<<< ?"),
    ("requirepass masterauth", "", r" {1,4}"),
    ("security", "-w", _ON + r"-w "),
    ("security", "-p", _ON + r"-p "),
    ("username enable", "secret", r"[^\n]{0,60} secret (?:\d )?"),
    ("username enable", "password", r"[^\n]{0,60} password (?:\d )?"),
    ("snmp-server", "community", r" community "),
    ("kubectl", "literal", _ON + r"--from-literal[= ][\"']?[\w.-]{0,40}(?i:pass|pw|secret|token|key|cred|auth)[\w.-]{0,30}="),
    ("sqlite sqlcipher pragma", "key", r"[^\n;]{0,60}?\bkey ?= ?"),
)  # fmt: skip
# The same as tuples: programs, signs, expression; a program is a word of its own.
PROGRAMS = tuple((tuple(programs.split()), sign, lead) for programs, sign, lead in COMMANDS)
# Options that say what they are given, of any program: `--db-password X`, `-token=X`, `/pass:X`.
OPTION_NAMES = "pass pw secret token auth key psk pin cred".split()
