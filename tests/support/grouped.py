"""Many quick cases as few tests: of each test, pytest's own work takes as long as such a case."""

import functools
import inspect

import pytest


def parametrize_in_groups(names, cases, size=25):
    """As `pytest.mark.parametrize`, but `size` cases are one test, which names one that fails.

    The cases of a group share its fixtures: what one writes to `tmp_path`, the next one finds.
    """
    names, cases = names.split(", "), list(cases)
    groups = [cases[start : start + size] for start in range(0, len(cases), size)]

    def decorate(test):
        @functools.wraps(test)
        def test_group(group, **fixtures):
            for case in group:
                values = case if len(names) > 1 else [case]
                arguments = dict(zip(names, values, strict=True))
                try:
                    test(**arguments, **fixtures)
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:
                    raise AssertionError(f"the case {arguments}") from error

        fixtures = [parameter for name, parameter in inspect.signature(test).parameters.items()
                    if name not in names]  # fmt: skip
        group = inspect.Parameter("group", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        test_group.__signature__ = inspect.Signature([group, *fixtures])
        ids = [f"{label(group[0])} to {label(group[-1])}" for group in groups]
        return pytest.mark.parametrize("group", groups, ids=ids)(test_group)

    return decorate


def label(case):
    return "-".join(map(str, case)) if isinstance(case, tuple) else str(case)
