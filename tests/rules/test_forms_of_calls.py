"""The forms in which a call is made that a rule is about, through the hook before each call."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memory_fabric.models import EFFECT, WHEN, Provenance, Record
from simulated_client import SimulatedClient

RULES = {
    "rm -rf data": "The collected data stays",
    "git push --force": "No push is forced",
    "npm run dev": "The dev server is started by hand",
    "src/api/**": "The handlers are generated",
    "conf/local.toml": "The local settings stay as they are",
    "migrations": "Migrations can be reversed",
    "package.json": "The manifest stays",
    "deploy": "Nobody deploys",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> SimulatedClient:
    client = SimulatedClient(tmp_path_factory.mktemp("forms"))
    memory = client.memory()
    for when, what in RULES.items():
        rule = Record("constraint", what, confidence=0.9, evidence={WHEN: when, EFFECT: "deny"})
        memory.remember(rule, Provenance("cli", trust="user"))
    memory.close()
    return client


def refused(client: SimulatedClient, command: str) -> list[str]:
    """Return what the rules that refuse a command are bound to."""
    command = command.replace("PROJECT", str(client.project))
    reply = client.fire("PreToolUse", tool_name="Bash", tool_input={"command": command})
    specific = reply.get("hookSpecificOutput", {})
    reason = str(specific.get("permissionDecisionReason", ""))
    assert (specific.get("permissionDecision") == "deny") == bool(reason)
    return [when for when, what in RULES.items() if what in reason]


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf ./data",
        "rm -rf data/",
        "rm -rf ./data/ && ls",
        "rm -rf PROJECT/data",
        "rm -rf $PWD/data",
        'rm -rf "${PWD}/data"',
        "rm -rf $(pwd)/data",
        "rm -rf src/../data",
        "cd src && rm -rf ../data",
        "cd src; cd -; rm -rf data",
        "pushd src; popd; rm -rf ./data",
        "cd / && rm -rf PROJECT/data",
        "(cd src; ls); rm -rf ./data",
        "rm -rf da*",
        "rm -rf d?ta",
        "rm -rf *",
        "rm -rf ./*",
        "rm -rf data/*",
        "rm -rf .",
        "rm -rf PROJECT",
        "cd .. && rm -rf PROJECT",
        "rm -rf build data",
        "rm -rf {build,data}",
        "rm -rf -- data",
        "rm -r --force data",
        "rm data -rf",
        "\\rm -rf data",
        "/bin/rm -rf data",
        "DIR=data; rm -rf $DIR",
        'DIR="data"; rm -rf "$DIR"',
        "export DIR=data && rm -rf ${DIR}/",
        "rm -rf ${DIR:-data}",
        "for d in build data; do rm -rf $d; done",
        "F=-rf; rm $F data",
        "C='rm -rf data'; $C",
        "printf data | xargs rm -rf",
        "echo data | xargs -I{} rm -rf {}",
        "echo data build | xargs -n1 rm -rf",
        "printf '%s\\n' build data | xargs -r rm -rf",
        "find data -maxdepth 0 | xargs rm -rf",
        "find data -exec rm -rf {} +",
        "find ./data -maxdepth 0 -exec rm -rf {} \\;",
        "fd -t d x -x rm -rf data",
        "parallel rm -rf ::: build data",
        "echo data | parallel rm -rf {}",
        "xargs rm -rf <<< data",
        "rm -rf $(echo data)",
        "rm -rf `echo data`",
        "rm -Rf 'data'/",
        "busybox rm -rf data",
        "find . -name data -exec rm -rf {} +",
        "find . -type d -name data | xargs rm -rf",
        "sudo sh -c 'cd src; rm -rf ../data'",
        "cp x y && (cd src && rm -rf ../data) &",
    ],
)
def test_a_path_in_a_rule_matches_in_every_spelling(client: SimulatedClient, command: str) -> None:
    assert "rm -rf data" in refused(client, command)


@pytest.mark.parametrize(
    "command",
    [
        "git push origin +main",
        "git push origin +HEAD:main",
        "git push -f",
        "git push -uf origin main",
        "git push --mirror",
        "git -c alias.x=push x --force",
        "git -c alias.x='push --force' x",
        "git -c alias.x='!git push --force' x",
        "git -C . push --force",
        "git --no-pager push --force",
        "\\git push --force",
        "g''it push --force",
        'g"i"t push --force',
        "git push $(echo --force)",
        "command git push --force",
        "builtin command git push --force",
        "exec git push --force",
        "exec -a x git push --force",
        "time -p git push --force",
        "time git push --force",
        "nohup git push --force &",
        "setsid -f git push --force",
        "nice -n 5 git push --force",
        "ionice -c 3 git push --force",
        "stdbuf -oL git push --force",
        "timeout -k 5 30 git push --force",
        "env -i git push --force",
        "env -S 'git push --force'",
        "env -S'git push --force'",
        "env --split-string='git push --force'",
        "env -C . git push --force",
        "sudo -Eu deploy git push --force",
        "doas git push --force",
        "su -c 'git push --force'",
        "su - deploy -c 'git push --force'",
        "su deploy --command='git push --force'",
        "runuser -u deploy -- git push --force",
        "sg developers 'git push --force'",
        "chroot /srv git push --force",
        "flock /tmp/lock git push --force",
        "flock -w 5 /tmp/lock -c 'git push --force'",
        "script -c 'git push --force' log",
        "script -q /dev/null git push --force",
        "watch git push --force",
        "watch -n 5 'git push --force'",
        "echo a.py | entr git push --force",
        "watchexec -e py git push --force",
        "nodemon --exec 'git push --force'",
        "chokidar '**/*.py' -c 'git push --force'",
        "git rebase -x 'git push --force' main",
        "git bisect run git push --force",
        "git submodule foreach 'git push --force'",
        "trap 'git push --force' EXIT",
        "tmux new-session -d 'git push --force'",
        "tmux new -d -s x 'cd app && git push --force'",
        "tmux -L sock new-session -d -s x git push --force",
        "tmux send-keys -t x 'git push --force' Enter",
        "tmux send-keys -t x git Space push Space --force C-m",
        "tmux new -d -s x \\; send-keys 'git push --force' Enter",
        "tmux split-window -h 'git push --force'",
        "screen -dm git push --force",
        "screen -dmS x bash -c 'git push --force'",
        "screen -S x -X stuff 'git push --force\\n'",
        'echo "push --force" | xargs git',
        "echo push | xargs -I % git % --force",
        "echo 'git push --force' | sh",
        "echo 'git push --force' | sudo bash -s",
        "printf 'git push --force\\n' | bash",
        "cat <<E | sh\ngit push --force\nE",
        "cat <<'E' | tee log | bash -e\ngit push --force\nE",
        "bash <<< 'git push --force'",
        "bash -s <<< 'git push --force'",
        "sh -s x <<E\ngit push --force\nE",
        "bash /dev/stdin <<< 'git push --force'",
        "source /dev/stdin <<< 'git push --force'",
        "bash <(echo git push --force)",
        ". <(echo git push --force)",
        "cat <(echo git push --force) | sh",
        "(echo git push --force) | sh",
        "{ echo git push --force; } | sh",
        'bash -c "$(echo git push --force)"',
        "eval \"$(printf 'git push --force')\"",
        "bash -ec 'git push --force'",
        "sh -c \"sh -c 'git push --force'\"",
        "at now <<< 'git push --force'",
        "echo 'git push --force' | at now",
        "parallel ::: 'git push --force'",
        "parallel -j2 git push {} ::: --force",
        "echo x | parallel 'git push --force'",
        "hyperfine 'git push --force'",
        "strace -f git push --force",
        "unshare -r git push --force",
        "systemd-run --user git push --force",
        "xvfb-run -a git push --force",
        "cmd /c git push --force",
        "pwsh -Command 'git push --force'",
        "conda run -n py git push --force",
        "mise exec -- git push --force",
        "direnv exec . git push --force",
        "aws-vault exec prod -- git push --force",
        "nix-shell --run 'git push --force'",
        "nix develop -c git push --force",
        "coproc git push --force",
        "f() { git push --force; }; f",
        "if ! git push --force; then :; fi",
        "G=git; $G push --force",
        "CMD='git push'; $CMD --force",
        "git${IFS}push${IFS}--force",
        "$'git' push --force",
        "ls | while read x; do git push --force; done",
        "git commit -m x && git push --force || true",
    ],
)
def test_a_command_rule_applies_to_wrapped_commands(client: SimulatedClient, command: str) -> None:
    assert refused(client, command) == ["git push --force"]


@pytest.mark.parametrize(
    "command",
    [
        "npm-run-all build dev",
        "npm-run-all --parallel api dev",
        "run-s build dev",
        "run-p dev api",
        "run-p 'd*'",
        "npx run-p dev api",
        "npx concurrently npm:dev npm:api",
        "npx start-server-and-test dev http://localhost:3000 test",
        "node --run dev",
        "nr dev",
        "rushx dev",
        "npx lerna run dev",
        "turbo run dev",
        "corepack pnpm dev",
        "npm exec -c 'npm run dev'",
        "npx dotenv -e .env -- npm run dev",
        "cross-env A=1 npm run dev",
        "pm2 start 'npm run dev'",
        "NPM=npm; $NPM run dev",
    ],
)
def test_a_rule_for_a_script_applies_with_any_runner(client: SimulatedClient, command: str) -> None:
    assert refused(client, command) == ["npm run dev"]


@pytest.mark.parametrize(
    "command",
    [
        "curl -o src/api/x.py https://example.org/x",
        "curl -sSLo src/api/x.py https://example.org/x",
        "curl https://example.org/x --output src/api/x.py",
        "curl --output=src/api/x.py https://example.org/x",
        "cd src/api && curl -O https://example.org/x.py",
        "curl --output-dir src/api -O https://example.org/x.py",
        "wget -O src/api/x.py https://example.org/x",
        "wget -P src/api https://example.org/x.py",
        "cd src/api && wget https://example.org/x.py?raw=1",
        "git checkout HEAD~1 -- src/api/x.py",
        "git checkout HEAD~1 src/api/x.py",
        "git checkout -- src/api",
        "git checkout src/api/x.py",
        "git checkout main src",
        "git checkout .",
        "git restore --source HEAD~1 src/api/x.py",
        "git restore src",
        "git rm -r src",
        "git mv src/api/x.py x.py",
        "git clean -fd src/api",
        "patch src/api/x.py fix.patch",
        "patch -p1 <<'E'\n--- a/src/api/x.py\n+++ b/src/api/x.py\n@@ -1 +1 @@\nE",
        "git apply <<'E'\n--- a/src/api/x.py\n+++ b/src/api/x.py\n@@ -1 +1 @@\nE",
        "cat <<'E' | git apply -\n+++ b/src/api/x.py\nE",
        "dd if=/dev/zero of=src/api/x.py",
        "install -m 644 x.py src/api/x.py",
        "install -D x.py -t src/api",
        "ln -sf /tmp/x.py src/api/x.py",
        "ln -s /tmp/x.py src/api/",
        "rsync -a out/ src/api/",
        "rsync -a x.py src/api",
        "rsync -a --delete out/ src/",
        "scp host:x.py src/api/x.py",
        "cp -t src/api x.py",
        "cp x.py src/api/",
        "cp --target-directory=src/api x.py",
        "mv x.py src/api",
        "mv src old",
        "rm -r src",
        "rm -r ./src/",
        "rm src/ap?/x.py",
        "rm -r s*",
        "rm -r {docs,src}",
        "rmdir src/api/x",
        "find src -name '*.py' -delete",
        "find . -path './src/api/*' -delete",
        "find . -delete",
        'for f in src/api/*; do rm "$f"; done',
        "find src/api -type f | xargs rm",
        "echo x | sponge src/api/x.py",
        "echo x > $PWD/src/api/x.py",
        "OUT=src/api; echo x > $OUT/x.py",
        "cat > src/api/x.py <<E\nx\nE",
        "sed -Ei.bak s/a/b/ src/api/x.py",
        "perl -0pi -e 's/a/b/' src/api/x.py",
        "gzip src/api/x.py",
        "npx prettier --write src/api/x.ts",
        "npx eslint --fix src/api/x.ts",
        "gofmt -w src/api/x.go",
        "sort -o src/api/x.txt x.txt",
        "git -C lib log > src/api/log.txt",
        "sudo tee src/api/x.py",
        "echo src/api/x.py | xargs rm",
    ],
)
def test_a_command_that_changes_a_file_is_detected(client: SimulatedClient, command: str) -> None:
    assert "src/api/**" in refused(client, command)


@pytest.mark.parametrize(
    "command",
    [
        "rm conf/*",
        "rm conf/*.toml",
        "rm -r conf",
        "rm -r c*",
        "mv conf old",
        "cp x conf/local.toml",
        "cp /tmp/local.toml conf/",
        "cd conf && rm -f local.toml",
        "truncate -s 0 conf/loc*",
    ],
)
def test_a_rule_for_a_file_covers_globs_and_folders(client: SimulatedClient, command: str) -> None:
    assert "conf/local.toml" in refused(client, command)


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build",
        "rm -rf ./build data.bak",
        "rm -r data",
        "rm -rf data/tmp",
        "rm -rf b*",
        "rm -rf /var/tmp/*",
        "cd /tmp && rm -rf build",
        "ls data; rm -rf $UNKNOWN",
        "DIR=build; rm -rf $DIR",
        "for d in build dist; do rm -rf $d; done",
        "git push origin main",
        "git push origin HEAD:main",
        "git push --force-with-lease",
        "git push --dry-run",
        "git commit -m 'git push --force'",
        'git commit -m "$(cat <<E\ngit push --force\nE\n)"',
        "git commit -F - <<E\ngit push --force\nE",
        "echo 'git push --force' > notes.txt",
        "echo 'git push --force' | grep push",
        "echo 'git push --force' | tee notes.txt",
        "cat <<E > run.sh\ngit push --force\nE",
        "cat <<E | grep x\ngit push --force\nE",
        "echo 'git push --force' | cat /dev/stdin",
        "sh run.sh <<< 'git push --force'",
        "xargs echo <<< 'git push --force'",
        "ls | xargs",
        "echo 'git push --force' | xargs",
        "nohup ./run.sh",
        "grep -r 'git push --force' . | xargs ls",
        "X='git push --force'; echo $X",
        "trap 'rm -f lock' EXIT",
        "tmux ls",
        "tmux kill-session -t dev",
        "watch -n 5 date",
        "git checkout main",
        "git checkout -b fix/src origin/src",
        "git stash",
        "curl -o /tmp/x https://example.org/src/api/x.py",
        "curl -s https://example.org/src/api/x.py",
        "wget -O - https://example.org/src/api/x.py",
        "cat src/api/x.py | sort -u > /tmp/x",
        "rsync -a src/api/ /tmp/copy/",
        "cp src/api/x.py x.py",
        "cp -r lib src",
        "tar czf /tmp/x.tgz src/api",
        "find src/api -name '*.py' | xargs grep x",
        "find src/api -name '*.py' -exec grep x {} +",
        "npx eslint src/api",
        "npx prettier --check src/api",
        "sed -ne s/i/j/p src/api/x.py",
        "sed -e's/i/j/' src/api/x.py",
        "perl -ne 'print if /i/' src/api/x.py",
        "git diff src/api > /tmp/x.diff",
        "git log -- src/api",
        "npm run build",
        "npm-run-all build test",
        "run-p 'api:*'",
        "turbo run build",
        "ls conf/*",
        "rm conf/*.bak",
        "rm *.toml",
        "mv ./new/* .",
        "find . -name '*.pyc' -delete",
        "find . -name '*.pyc' -exec rm -rf {} +",
        "find . -name __pycache__ -type d | xargs rm -rf",
        "find . -type d -empty -delete",
        "git restore --staged src/api/x.py",
        "git rm --cached src/api/x.py",
        "git clean -nd src/api",
        "patch --dry-run src/api/x.py x.patch",
        "scp src/api/x.py host:src/api/x.py",
        "rsync -a src/api/ host:src/api/",
        "git commit -F - <<E\n+++ b/src/api/x.py\nE",
        "wget -qO- https://example.org/src/api/x.py",
        "curl -XPOST https://example.org/src/api/x.py",
        "docker exec web git push --force",
        "true # git push --force",
        "awk '{print $1, $2}' x",
    ],
)
def test_a_rule_does_not_apply_to_unrelated_calls(client: SimulatedClient, command: str) -> None:
    assert refused(client, command) == []


def test_the_home_folder_is_recognised_in_each_notation(tmp_path: Path) -> None:
    client = SimulatedClient(tmp_path)
    memory = client.memory()
    rule = Record("constraint", "Keys stay", evidence={WHEN: "~/keys/**", EFFECT: "deny"})
    memory.remember(rule, Provenance("cli", trust="user"))
    memory.close()
    home = os.path.expanduser("~")

    for path in ("~/keys/a", "$HOME/keys/a", "${HOME}/keys/a", f"{home}/keys/a", "~/keys", "~/ke*"):
        reply = client.fire("PreToolUse", tool_name="Bash", tool_input={"command": f"rm -r {path}"})
        assert reply["hookSpecificOutput"]["permissionDecision"] == "deny", path


@pytest.mark.parametrize(
    ("when", "command"),
    [
        ("rm -rf data", "bash -euo pipefail -c 'rm -rf data'"),
        ("rm -rf data", "bash -o pipefail -c 'rm -rf data'"),
        ("rm -rf data", "function f { rm -rf data; }; f"),
        ("rm -rf data", "$(which rm) -rf data"),
        ("rm -rf data", "R=$(command -v rm); $R -rf data"),
        ("rm -rf data", "pkexec rm -rf data"),
        ("git push --force", "gtimeout 9 git push --force"),
        ("git push --force", "script -qec 'git push --force' /dev/null"),
        ("npm run dev", "yarn workspaces foreach -A run dev"),
        ("npm run dev", "yarn workspaces run dev"),
        ("npm run dev", "npx turbo dev"),
        ("npm run dev", "npx nx run-many -t dev"),
        ("npm run dev", "pm2 start npm --name web -- run dev"),
        ("npm run dev", "fnm exec --using 20 npm run dev"),
        ("npm run dev", "nvm exec 20 npm run dev"),
        ("npm run dev", "npm.cmd run dev"),
        ("npm run dev", "corepack pnpm@9 dev"),
        ("src/api/**", "gsed -i s/a/b/ src/api/x.py"),
        ("src/api/**", "gawk -i inplace 1 src/api/x.py"),
        ("src/api/**", "prettier -w src"),
        ("src/api/**", "ruff format ."),
        ("src/api/**", "black src/api/x.py"),
        ("src/api/**", "clang-format -i src/api/x.c"),
        ("src/api/**", "yq -i .a=1 src/api/x.yml"),
        ("src/api/**", "tar xf x.tar -C src/api"),
        ("src/api/**", "tar -xzf x.tgz --directory=src/api"),
        ("src/api/**", "unzip x.zip -d src/api"),
        ("src/api/**", "git clean -fdx"),
        ("package.json", "npm install left-pad"),
        ("package.json", "npm pkg set scripts.x=y"),
        ("package.json", "pnpm remove left-pad"),
        ("deploy", "yarn deploy"),
        ("deploy", "npx firebase-tools deploy"),
        ("deploy", "aws cloudformation deploy --stack-name x"),
        ("deploy", "docker stack deploy -c x.yml web"),
        ("deploy", "ansible-playbook -i prod deploy.yml"),
        ("deploy", "git push heroku main"),
    ],
)
def test_a_rule_applies_to_an_equivalent_call_of_another_program(
    client: SimulatedClient, when: str, command: str
) -> None:
    assert when in refused(client, command)


@pytest.mark.parametrize(
    "command",
    [
        "rm --help -rf data",
        "cp package.json /tmp/",
        "cp package.json package.json.bak",
        "cp -r lib src/",
        "rsync -an x/ src/api",
        "black --check src/api",
        "ruff format --check .",
        "tar -czf x.tgz -C src/api .",
        "npm install",
        "npm install -g left-pad",
        "npm pkg get scripts",
        "make -n deploy",
        "bash -n scripts/deploy.sh",
        "kubectl rollout status deploy/web",
        "turbo run build",
    ],
)
def test_a_rule_for_files_allows_calls_that_do_not_change_the_files(
    client: SimulatedClient, command: str
) -> None:
    assert refused(client, command) == []
