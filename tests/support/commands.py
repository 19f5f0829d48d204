"""Commands of jitterfly, called by tests: exit code, and the one line that an error is."""

from jitterfly.cli import main

PREFIX = "jitterfly: error: "


def run(*arguments):
    """The exit code of a command; arguments are turned into text."""
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as stop:
        return stop.code


def error_of(capsys, *arguments):
    """The error of a command: all that it says is this one line."""
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(PREFIX)
    assert printed.err.count("\n") == 1
    return printed.err.removeprefix(PREFIX).removesuffix("\n")


def last_error(capsys, *arguments):
    """The error of a command that has shown progress before."""
    assert run(*arguments) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith(PREFIX)
    return line.removeprefix(PREFIX)
