"""More private keys and dumps of an environment."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

PEMS = (
    "RSA PRIVATE KEY",
    "PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "EC PRIVATE KEY",
    "DSA PRIVATE KEY",
    "ENCRYPTED SIGSTORE PRIVATE KEY",
)
# How a key is found in a text: pasted, printed, quoted in code, cut off.
CUTS: Sequence[Callable[[list[str]], list[str]]] = (
    lambda lines: ["$ cat ~/.ssh/id_deploy", *lines, "$ ssh -i ~/.ssh/id_deploy app@host"],
    lambda lines: ["This is my key, why does ssh refuse it?", "", *lines],
    lambda lines: ["  private_key = <<-EOT", *(f"    {line}" for line in lines), "  EOT"],
    lambda lines: ['{"tls_key": "' + "\\n".join(lines) + '\\n"}'],
    lambda lines: ["stringData:", "  tls.key: |-", *(f"    {line}" for line in lines)],
    lambda lines: ['KEY = """' + lines[0], *lines[1:], '"""'],
    lambda lines: [f"# {line}" for line in lines],
    lambda lines: ["--- a/deploy.key", "+++ /dev/null", *(f"-{line}" for line in lines)],
    lambda lines: [f"{line}\r" for line in lines],
    lambda lines: [f"{number:6}\t{line}" for number, line in enumerate(lines, 1)],
    lambda lines: [f"{number:6}→{line}" for number, line in enumerate(lines, 1)],
    lambda lines: ["String key =", *(f'    "{line}\\n" +' for line in lines), '    "";'],
    lambda lines: ["<pre>", *lines, "</pre>"],
    lambda lines: [f"certs/server.key-{number}-{line}" for number, line in enumerate(lines, 1)],
    lambda lines: [" ".join(lines)],
    lambda lines: [
        "PuTTY-User-Key-File-3: ssh-rsa",
        "Encryption: none",
        "Comment: deploy",
        f"Private-Lines: {len(lines) - 2}",
        *lines[1:-1],
    ],
    lambda lines: [*lines[:6], "[... 14 lines truncated]"],
)
# Names of an environment and the letter of their value.
NAMES = (
    ("DB_PASSWORD", "q"),
    ("POSTGRES_PASSWORD", "q"),
    ("REDIS_PASSWORD", "q"),
    ("SMTP_PASSWORD", "q"),
    ("OPENAI_API_KEY", "k"),
    ("STRIPE_SECRET_KEY", "k"),
    ("GITLAB_TOKEN", "t"),
    ("NPM_TOKEN", "t"),
    ("JWT_SECRET", "x"),
    ("SESSION_SECRET", "k"),
    ("AWS_SECRET_ACCESS_KEY", "AWS"),
    ("ARM_CLIENT_SECRET", "AZURE"),
    ("ADMIN_PASSWORD", "h"),
    ("S3_SECRET_KEY", "AWS"),
    ("RABBITMQ_DEFAULT_PASS", "q"),
    ("KEYCLOAK_ADMIN_PASSWORD", "q"),
)
# Harmless ones between them.
REST = (
    ("HOME", "/home/app"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("LANG", "en_US.UTF-8"),
    ("NODE_ENV", "production"),
    ("HOSTNAME", "shop-6c9f7"),
    ("TZ", "Europe/Berlin"),
    ("DB_HOST", "db.internal"),
    ("WORKERS", "4"),
)
# What is printed before the lines, in each of them, and after them.
LAYOUTS = (
    ("$ printenv\n", "<n>=<v>", "\n$"),
    ("", 'declare -x <n>="<v>"', ""),
    ("#!/bin/sh\n", "export <n>='<v>'", '\nexec "$@"'),
    ("=== shop Config Vars\n\n", "<n>:  <v>", ""),
    ('"Env": [\n', '    "<n>=<v>",', "\n],"),
    ("services:\n  web:\n    environment:\n", "      <n>: <v>", "\n    ports:\n      - 8080:80"),
    ("Name                 Value\n----                 -----\n", "<n>       <v>", ""),
    ("> process.env\n{\n", "  <n>: '<v>',", "\n}"),
    ("environ({\n", " '<n>': '<v>',", "\n})"),
    ("        env:\n", "        - name: <n>\n          value: <v>", ""),
    ("# copied from the old server, do not commit\n", '<n>="<v>"', "\n# end"),
    ("[Service]\n", 'Environment="<n>=<v>"', "\nRestart=always"),
    ("<?php\nreturn [\n", "    '<n>' => '<v>',", "\n];"),
    ("C:\\app> set\n", "<n>=<v>", "\n\nC:\\app>"),
    ("    Environment:\n", "      <n>:   <v>", "\n    Mounts:        <none>"),
    ("Run make deploy\n  env:\n", "    <n>: <v>", ""),
    ("<environmentVariables>\n", '  <environmentVariable name="<n>" value="<v>" />', ""),
)


def dumps(each: int = 4) -> list[str]:
    """Return `each` dumps of every layout: three credentials and three harmless lines, mixed."""
    chance = random.Random(83)
    found = []
    for head, line, tail in LAYOUTS:
        for _ in range(each):
            secret = [(name, f"{{{letter}}}") for name, letter in chance.sample(NAMES, 3)]
            pairs = secret + chance.sample(REST, 3)
            chance.shuffle(pairs)
            lines = [line.replace("<n>", name).replace("<v>", value) for name, value in pairs]
            found.append(head + "\n".join(lines) + tail)
    return found
