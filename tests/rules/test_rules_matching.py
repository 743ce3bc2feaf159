"""The commands and files that a binding means, and those that only mention it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.models import Record
from memory_fabric.rules import matching
from memory_fabric.rules.bindings import bindings_of
from memory_fabric.rules.matching import BoundRule, applying
from memory_fabric.rules.shell import calls_in

ROOT = "/srv/app"


def means(when: str, command: str, what: str = "A rule", folder: str = ROOT) -> bool:
    rule = BoundRule(Record("constraint", what), bindings_of(when))
    assert rule.bindings, when
    return bool(applying([rule], matching.of_command(command, folder), (ROOT,)))


def changes(when: str, path: str, folder: str = ROOT, root: str = ROOT) -> bool:
    rule = BoundRule(Record("constraint", "A rule"), bindings_of(when))
    action = matching.action_of("Edit", {"file_path": path}, folder)
    return bool(applying([rule], action, (root,)))


@pytest.mark.parametrize(
    "command",
    [
        "npm run dev",
        "npm run dev -- --port 3000",
        "cd web && npm run dev",
        "npm install; npm run dev | tee log",
        "(cd web; npm run dev) &",
        "PORT=3000 npm run dev",
        "env PORT=3000 NODE_ENV=x npm run dev",
        "sudo -u web npm run dev",
        "time npm run dev",
        "timeout 30 npm run dev",
        "nohup npm run dev > /tmp/log 2>&1 &",
        "sh -c 'npm run dev'",
        'bash -lc "cd web && npm run dev"',
        "npm --prefix web run dev",
        "npm run-script dev",
        "npm --silent run dev",
        "/usr/bin/npm run dev",
        "npm \"run\" 'dev'",
        "npm run \\\n  dev",
        "if true; then npm run dev; fi",
        "for i in 1 2; do npm run dev; done",
        'echo "$(npm run dev)"',
        "echo `npm run dev`",
        "bash <<'EOF'\nnpm run dev\nEOF",
        "eval npm run dev",
        "ls | xargs -n 1 npm run dev",
        "pnpm dev",
        "pnpm run dev",
        "pnpm --filter web dev",
        "yarn dev",
        "yarn workspace web dev",
        "bun run dev",
        "npx concurrently 'npm run api' 'npm run dev'",
        "! npm run dev",
        "npm run dev # starts it",
    ],
)
def test_a_rule_matches_its_command_however_the_command_is_run(command: str) -> None:
    assert means("npm run dev", command)


@pytest.mark.parametrize(
    "command",
    [
        "echo npm run dev",
        "echo 'start it: npm run dev'",
        "grep -rn 'npm run dev' .",
        'git commit -m "Document npm run dev"',
        "git commit -m \"$(cat <<'EOF'\nnpm run dev; npm run dev\n\nnpm run dev\nEOF\n)\"",
        "cat > README.md <<EOF\nnpm run dev\nEOF",
        "cat >> README.md << 'END'\n```\nnpm run dev\n```\nEND\nls",
        "# npm run dev",
        "ls # && npm run dev",
        "npm run dev:server",
        "npm run build",
        "npm install dev",
        "npm run test -- dev",
        "npx npm-run dev",
        "dev",
        "pnpm add dev",
        "bun dev.ts",
        "sed -n '/npm run dev/p' package.json",
        "python -c \"print('npm run dev')\"",
        "case $1 in npm) echo run dev;; esac",
        "which npm && run dev",
        "command -v npm run dev",
        "npm help run dev",
    ],
)
def test_a_rule_does_not_match_other_commands_or_mentions_of_its_command(command: str) -> None:
    assert not means("npm run dev", command)


def test_a_rule_about_one_package_manager_does_not_match_another() -> None:
    what = "Use pnpm; never run npm here"

    assert means("npm run dev", "npm run dev", what)
    assert not means("npm run dev", "pnpm run dev", what)
    assert not means("npm install", "pnpm install", "Never use npm")
    assert means("npm install", "npm install --save-dev x", "Never use npm")


@pytest.mark.parametrize(
    ("when", "command", "meant"),
    [
        ("git commit", "git -C /elsewhere commit -m x", True),
        ("git commit", "git -c user.name=x commit", True),
        ("git commit", "git --no-pager log commit", False),
        ("git commit", "git log --grep commit", False),
        ("git push --force", "git push -f origin main", True),
        ("git push --force", "git push origin main --force", True),
        ("git push --force", "git push --force-with-lease", False),
        ("git push --force", "git push", False),
        ("rm -rf", "rm -r -f build", True),
        ("rm -rf", "rm -fr build", True),
        ("rm -rf", "rm --recursive --force build", True),
        ("rm -rf", "find . -name x -exec rm -rf {} +", True),
        ("rm -rf", "rm -r build", False),
        ("rm -rf", "rm build", False),
        ("docker compose up", "docker-compose -f a.yml up -d", True),
        ("docker compose up", "docker compose down", False),
        ("npm install <package>", "npm install", False),
        ("npm install <package>", "npm install lodash", True),
        ("fly deploy --remote-only", "flyctl deploy --app x --remote-only", True),
        ("pytest", "uv run pytest -x", True),
        ("pytest", ".venv/bin/pytest tests", True),
        ("pytest", "python3 -m pytest", False),
        ("vite", "npx vite build", True),
        ("vite", "npx -y vite@5", True),
        ("make deploy", "make -C infra deploy", True),
        ("make deploy", "make build", False),
        ("./scripts/deploy.sh", "bash scripts/deploy.sh now", True),
        ("./scripts/deploy.sh", "cd scripts && ./deploy.sh", True),
        ("./scripts/deploy.sh", "cat scripts/deploy.sh", False),
        ("npm run build in apps/docs", "cd apps/docs && npm run build", True),
        ("npm run build in apps/docs", "npm --prefix apps/docs run build", True),
        ("npm run build in apps/docs", "npm run build", False),
        ("npm run build in apps/docs", "(cd apps/docs; ls); npm run build", False),
    ],
)
def test_options_match_in_any_position_and_are_required_only_if_the_rule_names_them(
    when: str, command: str, meant: bool
) -> None:
    assert means(when, command) is meant


@pytest.mark.parametrize(
    ("when", "command", "meant"),
    [
        ("commit", "git add . && git commit -m 'x'", True),
        ("before each commit", "git commit --amend --no-edit", True),
        ("commit", "git show commit", False),
        ("commit", "git commit --dry-run", False),
        ("deploying", "fly deploy", True),
        ("deploy", "npm run deploy:prod", True),
        ("deploy", "vercel --prod", True),
        ("deploy", "vercel env pull", False),
        ("deploy", "git log --grep deploy", False),
        ("a Vercel deployment", "npx vercel deploy", True),
        ("a Vercel deployment", "fly deploy", False),
        ("running tests", "npm test", True),
        ("running tests", "cargo test --lib", True),
        ("running tests", "npm run testimonials", False),
        ("running tests", "ls tests", False),
        ("migrations", "python manage.py migrate", True),
        ("migrations", "npx prisma migrate dev --name x", True),
        ("migrations", "npm run db:migrate", True),
        ("migrations", "ls db/migrate", False),
        ("migrations", "dotnet ef migrations add X --project y", True),
        ("migrations", "dotnet ef migrations list", False),
        ("building", "npx tsc --noEmit", False),
        ("building", "docker compose --profile x build web", True),
        ("starting the dev server", "npx next dev", True),
        ("starting the dev server", "yarn start", True),
        ("starting the dev server", "npx next build", False),
    ],
)
def test_an_activity_in_a_rule_matches_the_commands_that_perform_it(
    when: str, command: str, meant: bool
) -> None:
    assert means(when, command) is meant


@pytest.mark.parametrize(
    ("when", "path", "meant"),
    [
        ("src/api/**", "src/api/users/list.py", True),
        ("src/api/**", "/srv/app/src/api/x.py", True),
        ("src/api/**", "./src/web/../api/x.py", True),
        ("src/api/**", "src/api-client/x.py", False),
        ("src/api/**", "/srv/other/src/api/x.py", False),
        ("src/api", "src/api/x.py", True),
        ("src/api", "src/apis/x.py", False),
        ("*.sql", "db/schema.sql", True),
        ("*.sql", "db/schema.sqlite", False),
        ("package.json", "web/package.json", True),
        ("package.json", "package.json.bak", False),
        ("docs/*.md", "docs/a.md", True),
        ("docs/*.md", "docs/deep/a.md", False),
        ("src/**/test_*.py", "src/a/b/test_x.py", True),
        ("src/**/test_*.py", "src/test_x.py", True),
        ("src/{api,web}/**", "src/web/x.ts", True),
        ("migrations", "db/migrations/0001.sql", True),
        ("changing config/config.exs", "config/config.exs", True),
    ],
)
def test_a_path_pattern_in_a_rule_is_matched_relative_to_the_project_root(
    when: str, path: str, meant: bool
) -> None:
    assert changes(when, path) is meant


def test_symbolic_links_are_resolved_before_a_path_is_matched(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "src").mkdir(parents=True)
    link.symlink_to(real)
    (real / "alias").symlink_to(real / "src")

    assert changes("src/**", str(link / "src" / "x.py"), root=str(real))
    assert changes("src/**", "alias/x.py", folder=str(real), root=str(real))
    assert not changes("src/**", str(link / "web" / "x.py"), root=str(real))


@pytest.mark.parametrize(
    ("command", "meant"),
    [
        ("echo x > src/api/x.py", True),
        ("cd src && sed -i 's/a/b/' api/x.py", True),
        ("rm -r src/api", True),
        ("cat x | tee -a src/api/x.py", True),
        ("cp x.py src/api/x.py", True),
        ("cat src/api/x.py", False),
        ("grep -rn x src/api", False),
        ("cp src/api/x.py /tmp", False),
        ("ls src/api > /tmp/list", False),
    ],
)
def test_a_path_rule_matches_a_command_only_if_the_command_changes_the_file(
    command: str, meant: bool
) -> None:
    assert means("src/api/**", command) is meant


@pytest.mark.parametrize(
    "when",
    [
        "working on the POS view",
        "running shell commands",
        "changing NEXT_PUBLIC_ variables on Railway",
        "deploying apps/api to Fly.io",
        "TypeScript/React code",
        "https://example.org/a",
        "always",
        "",
        "`createColorFunctions`",
    ],
)
def test_a_rule_condition_without_a_command_path_or_activity_matches_no_call(when: str) -> None:
    assert bindings_of(when) == ()


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ('`git commit -m "a; b"`', [("git", "commit", "-m", "a; b")]),
        ("'git pull'", [("git", "pull")]),
        ('"npm run dev"', [("npm", "run", "dev")]),
        ("`cat x | grep y`", [("cat", "x"), ("grep", "y")]),
        ("`cd web && npm run dev`", [("cd", "web"), ("npm", "run", "dev")]),
        ("`rm -rf *`", [("rm", "-rf", "*")]),
        ("npm install <package>", [("npm", "install", "*")]),
        ("`find . -exec rm {} +`", [("rm", "*")]),
        ("`npx vite`", [("vite",)]),
        ("`sudo make install`", [("make", "install")]),
        ("`bash -c 'npm run dev'`", [("npm", "run", "dev")]),
        ("`sudo`", [("sudo",)]),
        ("`npm-run-all a b`", [("npm-run-all", "a", "b")]),
        ("`rm -rf $DIR`", [("rm", "-rf", "$DIR")]),
    ],
)
def test_a_command_in_a_rule_is_parsed_like_a_command_that_is_run(
    when: str, words: list[tuple[str, ...]]
) -> None:
    assert [binding.words for binding in bindings_of(when)] == words


@given(st.text(max_size=200))
def test_any_line_is_read(line: str) -> None:
    for call in calls_in(line, ROOT):
        assert call.words or call.written
    matching.of_command(line, ROOT)
    bindings_of(line)


@given(st.text(alphabet="abn \t\n;&|()<>$`'\"\\#{}=-!\0", max_size=120))
def test_any_line_of_signs_is_read(line: str) -> None:
    matching.of_command(line, ROOT)
    bindings_of(line)


@pytest.mark.parametrize(
    "part", ["(", "$(", "`", "'", '"', "<<E\n", "a;", "$((", "{ ", "case a in "]
)
def test_a_very_long_line_is_parsed_into_at_most_1000_commands(part: str) -> None:
    line = part * (64 << 10)

    assert len(matching.of_command(line, ROOT).calls) <= 1000


@pytest.mark.parametrize(
    "line",
    [
        "X=aaaaaaaa;" + "X=$X$X;" * 2000 + "rm $X",
        "echo " + "a " * 10000 + "| xargs -I{} sh -c '" + "{} " * 5000 + "'",
        "parallel " * 40 + "x ::: " + "a " * 10000,
        "echo " + "{a,b,c}{a,b,c}{a,b,c} " * 1000,
    ],
)
def test_shell_expansion_in_a_long_line_cannot_create_unlimited_commands(
    line: str,
) -> None:
    calls = matching.of_command(line, ROOT).calls

    assert len(calls) <= matching.MAX_COMMANDS
    assert sum(len(word) for call in calls for word in call.words) < 100 * len(line)


def test_a_path_rule_does_not_match_after_cd_to_an_unknown_folder() -> None:
    assert not means("src/api/**", "cd $DIR && rm src/api/x.py")
    assert os.path.isabs(ROOT)


def test_a_path_rule_matches_files_in_dev_shm_but_no_device_file() -> None:
    assert not changes("null", "/dev/null", root="/srv/app")
    assert changes("src/**", "/dev/shm/app/src/x.py", root="/dev/shm/app")
