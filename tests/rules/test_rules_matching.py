"""The commands and files that a binding means, and those that only mention it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_fabric.models import CONFIRMED, OTHERS, QUOTATION, UNSAID, WHEN, Record
from memory_fabric.rules import matching
from memory_fabric.rules.bindings import bindings_of, required_by
from memory_fabric.rules.matching import Applied, BoundRule, applying
from memory_fabric.rules.shell import Call, calls_in

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
        ("../shared/*.sql", "/srv/shared/schema.sql", True),
        ("../shared/*.sql", "/srv/app/shared/schema.sql", False),
        ("../shared/*.sql", "/srv/app/../schema.sql", False),
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


FINAL = (
    *("git push", "npm publish", "rm x", "find . -delete", "make deploy", "task run deploy"),
    *("make -C infra deploy-web", "./deploy.sh", "bash scripts/deploy_web.sh now"),
    *("npm run deploy:prod", "vercel", "vercel --prod"),
)
NOT_FINAL = (
    *("git commit", "rm --help", "make build", "make", "bash x.sh deploy", "bash"),
    *("npm run deployment", "vercel env pull"),
)


@pytest.mark.parametrize("line", FINAL + NOT_FINAL)
def test_a_call_is_final_if_it_pushes_publishes_deploys_or_deletes(line: str) -> None:
    assert matching.is_final(Call(tuple(line.split()), ROOT), (ROOT,)) is (line in FINAL)


@pytest.mark.parametrize(
    ("wanted", "line", "expected"),
    [
        ("git commit -n", "git commit --no-verify", True),
        ("git branch -D", "git branch -d -f x", True),
        ("git branch -D", "git branch -d x", False),
        ("git push -d", "git push origin :x", True),
        ("git push -d", "git push origin +x", False),
        ("git pull -f", "git pull origin +x", False),
        ("x --level=1", "x --level=2", True),
        ("x --level=1", "x", False),
        ("x -- -f", "x -- -f", True),
        ("x -- -f", "x -f", False),
        ("x -", "x -f", False),
        ("git push origin main", "git push origin HEAD:main", True),
        ("git push origin main", "git push origin refs/heads/main", True),
        ("git push origin main", "git push main", False),
        ("make a b", "make b c a", True),
        ("x a b", "x b a", False),
        ("x a", "x --opt v a", True),
        ("x a", "x --opt=v a", True),
        ("git log a", "git log --opt v a", False),
        ("x a", "x ./a", True),
        ("x a", "x b/../a", True),
        ("x a", "x a/", True),
        ("x a", "x a/b", False),
        ("rm x/a", "rm x", True),
        ("x*", "xyz", True),
        ("x*", "yxz", False),
        ("deploy.sh", "/opt/deploy.sh", True),
        ("deploy", "/opt/deploy", False),
        ("deploy", "./deploy", True),
        ("bin/run", "sh -x bin/run", True),
        ("bin/run", "sh", False),
    ],
)
def test_a_command_is_run_with_equivalent_options_and_arguments(
    wanted: str, line: str, *, expected: bool
) -> None:
    call = Call(tuple(line.split()), ROOT)

    assert matching.is_command(tuple(wanted.split()), call, (ROOT,)) is expected


def test_the_part_of_a_call_that_matches_is_named_and_may_be_final() -> None:
    def matched(line: str, when: str = "src/**") -> tuple[str, bool]:
        [binding] = bindings_of(when)
        return matching.matched(binding, matching.of_command(line, ROOT), (ROOT,))

    assert matched("rm -r src/a") == (f"{ROOT}/src/a", True)
    assert matched("touch src/a") == (f"{ROOT}/src/a", False)
    assert matched("touch lib/a") == ("", False)
    assert matched("rm lib/a; touch src/a") == (f"{ROOT}/src/a", True)
    assert matched("ls && git push -u", "git push") == ("git push -u", True)


def test_the_files_of_an_edit_are_read_from_the_argument_of_its_tool() -> None:
    def of(tool: str, **arguments: object) -> tuple[str, ...]:
        return matching.action_of(tool, arguments, ROOT).paths

    assert of("Edit", file_path="a") == of("Write", file_path="./a") == (f"{ROOT}/a",)
    assert of("NotebookEdit", notebook_path="a") == (f"{ROOT}/a",)
    assert of("NotebookEdit", file_path="a") == of("Read", file_path="a") == ()
    assert of("Edit", file_paths=["b", "a", "b", 3]) == (f"{ROOT}/b", f"{ROOT}/a")
    assert of("Read", file_paths=["a"]) == of("Edit", file_path=3) == ()
    assert matching.action_of("Bash", {"command": ["ls"]}, ROOT) == matching.Action()
    assert matching.action_of("Bash", {"command": "ls"}, ROOT).calls[0].words == ("ls",)


def test_a_rule_applies_by_its_first_binding_that_matches() -> None:
    rules = [
        BoundRule(Record("constraint", what), bindings_of(when), required_by(when))
        for what, when in (("one", "npm run zap, git push, first lint"), ("two", "commit"))
    ]

    [applied] = applying(rules, matching.of_command("git push; npm run zap", ROOT), (ROOT,))

    assert (applied.record.what, applied.binding.text) == ("one", "npm run zap")
    assert applied.part == "npm run zap"
    assert [binding.text for binding in applied.first] == ["lint"]


def test_required_commands_that_the_user_did_not_type_count_only_once_confirmed() -> None:
    evidence = {WHEN: "git push, first `pytest`, lint", UNSAID: ["pytest"]}
    rule = Record("constraint", "Test first", evidence=evidence)

    unsaid = matching.bound(rule)
    confirmed = matching.bound(rule._replace(evidence={**evidence, CONFIRMED: "2026-03-01"}))

    assert [binding.text for binding in unsaid.bindings] == ["push"]
    assert [binding.text for binding in unsaid.first] == ["lint"]
    assert [binding.text for binding in confirmed.first] == ["pytest", "lint"]
    assert matching.bound(Record("constraint", "x")).bindings == ()


class TestTexts:
    [PUSH] = bindings_of("git push")
    RULE = Record(
        "constraint",
        "Pushes are reviewed",
        why="the team asked",
        id="0" * 24 + "12345678",
        trust="user",
        created_at="2026-03-01T12:00:00.000Z",
    )

    def applied(self, **fields: object) -> Applied:
        first = required_by("push, first `pytest`") if fields.pop("gated", False) else ()
        missing = str(fields.pop("missing", ""))
        record = self.RULE._replace(**fields)  # type: ignore[arg-type]
        return Applied(record, self.PUSH, "git push", first=first, missing=missing)

    def test_a_rule_is_one_line_with_its_source_date_and_binding(self) -> None:
        line = matching.rule_line(self.applied(gated=True, valid_from="2026-02-01T00:00:00.000Z"))

        assert line.startswith("- [12345678] Pushes are reviewed")
        assert line.endswith("(rule of the user, 2026-02-01; bound to: push, first `pytest`)")
        assert "the team asked" in line and "\n" not in line

    def test_a_rule_without_a_later_date_is_dated_by_its_creation(self) -> None:
        line = matching.rule_line(self.applied(trust="assistant"))

        assert line.endswith("(rule noted by the assistant, 2026-03-01; bound to: push)")

    def test_a_long_rule_is_cut_but_never_the_users_words(self) -> None:
        words = "never push on a friday " * 40
        long = matching.rule_line(self.applied(what=words))
        quoted = matching.rule_line(
            self.applied(what="No pushes", evidence={QUOTATION: words.strip()})
        )

        assert len(long) < matching.MAX_TEXT_CHARS + 100 and "…" in long
        assert words.strip() in quoted and "No pushes" in quoted

    def test_another_persons_words_are_quoted_with_the_name(self) -> None:
        line = matching.rule_line(
            self.applied(
                source=OTHERS, trust="foreign", author="ben", evidence={QUOTATION: "never push"}
            )
        )

        assert "“never push" in line and "(rule of ben, for the team, 2026-03-01;" in line

    def test_a_refusal_tells_when_the_call_passes(self) -> None:
        plain, gated = self.applied(), self.applied(missing="test comes first")

        once, until = matching.reason_once([plain]), matching.reason_once([plain, gated, gated])
        denied, barred = matching.reason_denied([plain]), matching.reason_denied([gated])

        assert once.startswith(matching.HELD_BACK) and until.startswith(matching.HELD_BACK)
        assert "Made again in this session, it passes." in once
        assert "once that has passed" in until and "Made again" not in until
        assert until.count("test comes first") == 1 and until.count("- [12345678]") == 3
        assert "`lift 12345678`" in denied and "each time" in denied
        assert "test comes first" in barred and "until then" in barred

    def test_a_question_separates_own_rules_from_those_of_the_team(self) -> None:
        own = self.applied(missing="test comes first")
        theirs = self.applied(source=OTHERS, author="ben", id="0" * 24 + "87654321")

        both = matching.question([theirs, own])

        assert both == f"{matching.question([own])}\n{matching.question([theirs])}"
        assert "`tell 12345678`" in both and "`lift 12345678`" in both
        assert "`forget 87654321`" in both and "87654321`" not in matching.question([own])
        assert "ben asks everybody in your team" in both
        assert "test comes first" in matching.question([own])
        assert matching.context_block([own, theirs]).count("\n- [") == 2


def test_a_pattern_beside_the_project_matches_nothing_if_the_projects_folder_is_relative() -> None:
    assert not matching._covers("../shared/*.sql", "/srv/shared/schema.sql", (".",))
