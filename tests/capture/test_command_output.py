"""Outputs of commands: whether they failed, and the one line that says why."""

from __future__ import annotations

import pytest

from linear import LIMIT, TIMES, growth
from memory_fabric.capture.command_output import (
    MAX_HEAD_CHARS,
    MAX_LINE_CHARS,
    MAX_TAIL_CHARS,
    is_no_failure,
    is_specific,
    outcome,
    pasted_error,
    signature,
    telling_line,
)

PYTEST = """Exit code 1
=================================== FAILURES ===================================
    def test_total():
>       assert total([]) == 0
E       KeyError: 'total'

cart.py:3: KeyError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - KeyError: 'total'
========================= 1 failed, 3 passed in 0.12s =========================="""
TRACEBACK = """Exit code 1
Traceback (most recent call last):
  File "a.py", line 1, in <module>
ValueError: first

During handling of the above exception, another exception occurred:

shop.errors.CartError: the cart is empty"""
TSC = """src/a.ts(3,4): error TS2322: Type 'string' is not assignable to type 'number'.
src/b.ts(1,1): error TS1005: ';' expected.
Found 2 errors."""
CARGO = """   Compiling shop v0.1.0
error[E0382]: borrow of moved value: `cart`
 --> src/main.rs:4:5
error: could not compile `shop`"""
NPM = """npm ERR! code ELIFECYCLE
npm ERR! missing script: build
npm ERR! A complete log of this run can be found in: /x"""

LIFECYCLE = """npm error Lifecycle script `build` failed with error:
npm error code 2
npm error path /srv/shop
npm error command failed
npm error command sh -c tsc"""


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (PYTEST, "KeyError: 'total'"),
        ("E       assert 1 == 2\n\nx.py:1: AssertionError\n1 failed", "assert 1 == 2"),
        (TRACEBACK, "shop.errors.CartError: the cart is empty"),
        (TSC, "src/a.ts(3,4): error TS2322: Type 'string' is not assignable to type 'number'."),
        (CARGO, "error[E0382]: borrow of moved value: `cart`"),
        (NPM, "missing script: build"),
        ("\x1b[31merror: no such table: carts\x1b[0m\ndone", "error: no such table: carts"),
        ("panic: runtime error: index out of range\ngoroutine 1", "panic: runtime error: index"
         " out of range"),
        ("Exit code 2\nsomething odd\n======\n", "something odd"),
        ("error:\n\nthe thing broke", "the thing broke"),
        ("Error:", "Error:"),
        ("Exit code 1", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_line_with_the_error_is_found_in_command_output(output: str, line: str) -> None:
    assert telling_line(output) == line


@pytest.mark.parametrize(
    ("output", "line"),
    [
        (f"{LIFECYCLE}\n> tsc\n\n{TSC}", TSC.splitlines()[0]),
        ("Error: \nEPERM: operation not permitted, rename 'a.dll'",
         "EPERM: operation not permitted, rename 'a.dll'"),
        ("Error: Cannot find module './cart'",) * 2,
        ("AssertionError: expected 90 to be 95\n  at cart.test.ts:3:1",
         "AssertionError: expected 90 to be 95"),
        ("** (CompileError) lib/cart.ex: undefined function total/1",) * 2,
        ("curl: (22) The requested URL returned error: 404",) * 2,
        ("HTTP 502 Bad Gateway",) * 2,
        ("npm error notarget No matching version found for tsx@^4.22.1.",
         "No matching version found for tsx@^4.22.1."),
        (LIFECYCLE, ""),
        ("Exit code 1\nerror Command failed with exit code 1.", ""),
        ("FAILED tests/test_cart.py::test_total", ""),
        ("AssertionError", ""),
        ("/srv/shop/cart.py", ""),
        ("Building...", ""),
        ("error: could not compile `shop` due to 2 previous errors", ""),
    ],
)  # fmt: skip
def test_the_error_signature_is_the_specific_error_line_or_empty(output: str, line: str) -> None:
    assert signature(output) == line


def test_an_error_message_is_found_in_pasted_output_but_not_in_prose() -> None:
    assert (
        pasted_error("I get an error here:\nTypeError: cart is null") == "TypeError: cart is null"
    )
    assert pasted_error("The upload is broken, I cannot find the file") == ""


@pytest.mark.parametrize(
    ("output", "passed"),
    [
        (PYTEST, False),
        ("3 passed in 0.1s", True),
        ("12 passed, 1 failed", False),
        ("0 failures", True),
        ("test result: ok. 5 passed; 0 failed", True),
        ("Success: no issues found in 4 source files", True),
        ("installed the package", None),
        ("", None),
    ],
)
def test_command_output_is_classified_as_passed_failed_or_unknown(
    output: str, passed: bool | None
) -> None:
    assert outcome(output) is passed


@pytest.mark.parametrize(
    "output",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "[Request interrupted by user for tool use]",
        "Permission to use Bash with command rm has been denied.",
        "<tool_use_error>InputValidationError</tool_use_error>",
        "Command timed out after 2m 0s\nso far",
        "Error: Exit code 130\n^C",
        "Exit code 127\nbash: pytset: command not found",
        "Exit code 143",
        "Exit code 124",
        "  Error:  Exit code 255\nx",
        "x" * 285 + "has been denied",
        "x" * 279 + "interrupted by user",
        "x" * 1977 + "Command timed out after",
    ],
)
def test_a_rejected_or_interrupted_call_does_not_count_as_a_failure(output: str) -> None:
    assert is_no_failure(output)


@pytest.mark.parametrize(
    "output",
    [
        PYTEST, TSC, "Exit code 1\nboom", "Error: boom", "",
        "Exit code 1 130", "Exit code 0", "Exit code",
        # Signs of an interruption count only at the start of an output.
        "x" * 286 + "has been denied", "x" * 282 + "interrupted by user",
        "x" * 1978 + "Command timed out after",
    ],
)  # fmt: skip
def test_a_call_that_ran_to_its_end_can_count_as_a_failure(output: str) -> None:
    assert not is_no_failure(output)


@pytest.mark.parametrize("unit", ["E  a ", "error ", "x." * 9, "FAILED", "1 failed ", "\x1b[", " "])
def test_any_output_is_parsed_in_linear_time(unit: str) -> None:
    def parse(text: str) -> None:
        telling_line(text)
        outcome(text)

    def longer_lines(n: int) -> None:
        parse((unit * (n // len(unit)) + "\n") * 30)

    def more_lines(n: int) -> None:
        parse((unit * 5 + "\n") * (n // (5 * len(unit) + 1)))

    assert growth(longer_lines, MAX_LINE_CHARS // TIMES) < LIMIT
    assert growth(more_lines, (MAX_HEAD_CHARS + MAX_TAIL_CHARS) // TIMES) < LIMIT


@pytest.mark.parametrize(
    ("line", "specific"),
    [
        ("cart total", False), ("ledger", False), ("a ledger", False), ("表", False),
        ("ledger invoice", True), ("é ü", True), ("ledger 'x y'", True), ("ledger a.py", True),
        ("ledger E0382", True), ("ledger:12", True), ("ledger (3,4)", True),
        ("ledger 404", True), ("ledger 304", False), ("ledger 12", False),
    ],
)  # fmt: skip
def test_a_line_is_specific_with_two_words_of_its_own_or_one_and_a_name(
    line: str, specific: bool
) -> None:
    assert is_specific(line) is specific


def test_only_the_beginning_and_the_end_of_a_long_output_are_judged() -> None:
    half = "x\n" * (MAX_HEAD_CHARS // 2)

    assert outcome(f"{half}1 failed\n{half}") is None
    assert outcome(f"1 failed\n{half}{half}") is False
    assert outcome(f"{half}{half}1 failed") is False
    assert len(telling_line("error: " + "y z " * 1000)) <= MAX_LINE_CHARS
