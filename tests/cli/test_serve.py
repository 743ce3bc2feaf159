"""serve: options that do not fit, and its permanent keys."""

from __future__ import annotations

import pytest

from cli.shell import Shell


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("laptop",), "A name needs --new-key."),
        (("--new-key", "--list-keys"), "--new-key"),
        (("--list-keys", "--drop-key", "laptop"), "--drop-key"),
        (("--read", "x"), "need --team"),
        (("--space", "x"), "need --team"),
        (("--member", "x"), "need --team"),
        (("--domain", "x"), "need --team"),
        (("--insecure",), "need --team"),
    ],
)
def test_options_of_serve_that_do_not_fit_are_refused(
    shell: Shell, words: tuple[str, ...], said: str
) -> None:
    done = shell.run("serve", *words)

    assert (done.status, done.out) == (2, "")
    assert said in done.err


def test_a_key_is_printed_once_listed_by_name_and_dropped(shell: Shell) -> None:
    none = shell.run("serve", "--list-keys")
    made = shell.run("serve", "--new-key", "laptop")
    listed = shell.run("serve", "--list-keys")
    dropped = shell.run("serve", "--drop-key", "laptop")

    assert {done.status for done in (none, made, listed, dropped)} == {0}
    assert none.out == (
        "There is no permanent key. memory-fabric serve --new-key NAME creates one.\n"
    )
    assert made.out.strip() and made.out.strip() not in listed.out
    assert made.err == "memory-fabric: this key is shown only once; only its hash is stored.\n"
    assert listed.out.startswith("laptop  20")
    assert dropped.out == "The key laptop is not valid any more.\n"
    assert shell.run("serve", "--list-keys").out == none.out
