"""A parameter of a question is stated once: in call, command, JSON, `--out` and documentation."""

import argparse
import inspect
import json
import pickle
import sys
from dataclasses import KW_ONLY

import pytest

import jitterfly as jf
from jitterfly import advice
from jitterfly.cli import main
from jitterfly.cli.options import add_parameters, read_question
from jitterfly.cli.parser import OnceParser, _parser, leaves
from jitterfly.compare_measured import CompareMeasuredQuestion
from jitterfly.explain import ExplainQuestion
from jitterfly.fields import FieldError, naming_fields
from jitterfly.noise_limit import NoiseLimitQuestion
from jitterfly.predict import InferNoiseQuestion, PredictQuestion
from jitterfly.question import ENGINE, Bytes, Count, Question, call_of, parameters_table, question
from jitterfly.schedule.explain import ScheduleExplainQuestion
from jitterfly.schedule.simulate import ScheduleQuestion
from jitterfly.slowdown import SlowdownQuestion

NOISE = "period=1ms,duration=25us"
QUESTIONS = {
    jf.slowdown: SlowdownQuestion,
    jf.noise_limit: NoiseLimitQuestion,
    jf.advise: advice.Question,
    jf.explain: ExplainQuestion,
    jf.compare_measured: CompareMeasuredQuestion,
    jf.infer_noise: InferNoiseQuestion,
    jf.predict: PredictQuestion,
    jf.simulate_schedule: ScheduleQuestion,
    jf.explain_schedule: ScheduleExplainQuestion,
}
COMMANDS = {"slowdown": (SlowdownQuestion, NoiseLimitQuestion), "advise": (advice.Question,),
            "run": (ScheduleQuestion,), "explain": (ExplainQuestion, ScheduleExplainQuestion),
            "compare-measured": (CompareMeasuredQuestion,),
            "predict": (PredictQuestion,)}  # fmt: skip


@question
class WithOneMore(SlowdownQuestion):
    """The question of `slowdown` with a parameter more, as a line in its class would add it."""

    _: KW_ONLY
    warm_up: Count = Count("cycles before the first that counts", default=2, low=0, high=1000)


def parser_of(*questions):
    parser = OnceParser()
    parser.register("action", "append", argparse._AppendAction)
    add_parameters(parser, *questions)
    return parser


def test_a_parameter_more_is_everywhere(monkeypatch, tmp_path, capsys):
    """One line in the class: call, help(), option, its help, JSON, identity, table, errors."""
    more = call_of(WithOneMore, WithOneMore.answer, "more")
    assert inspect.signature(more).parameters["warm_up"].default == 2
    text = inspect.getdoc(more)
    assert "\nwarm_up : int | str, optional\n    Cycles before the first that counts.\n" in text
    with pytest.raises(FieldError, match=r"^warm_up must be an integer from 0 to 1000, got -1$"):
        more(NOISE, 4, warm_up=-1)
    assert len(more(NOISE, 4, warm_up="1e2", realizations=10).rows) == 1
    row = "| `warm_up` | `--warm-up` | 2 | cycles before the first that counts |"
    assert row in parameters_table([WithOneMore]).splitlines()
    help_ = " ".join(parser_of(WithOneMore).format_help().split())
    assert "--warm-up N cycles before the first that counts (default 2)" in help_
    chosen = parser_of(WithOneMore).parse_args(["--noise", NOISE, "--ranks=4", "--warm-up=7"])
    asked = read_question(chosen, WithOneMore)
    assert (asked.warm_up, asked.to_dict()["warm_up"]) == (7, 7)

    monkeypatch.setattr(sys.modules["jitterfly.slowdown"], "SlowdownQuestion", WithOneMore)
    given = ["slowdown", "--noise", NOISE, "--ranks", "4", "--realizations", "10", "-q"]
    given += ["--out", str(tmp_path)]
    assert main([*given, "--warm-up", "3"]) == 0
    assert json.loads((tmp_path / "slowdown.json").read_text())["warm_up"] == 3
    capsys.readouterr()
    assert main([*given, "--warm-up", "4"]) == 2
    assert "(its warm_up is 3, here it is 4)" in capsys.readouterr().err
    assert main([*given, "--warm-up", "-1"]) == 2
    assert "error: --warm-up must be an integer from 0 to 1000" in capsys.readouterr().err


@pytest.mark.parametrize("call", QUESTIONS, ids=lambda call: call.__name__)
def test_a_call_and_its_question_agree(call):
    asked = QUESTIONS[call]
    names = list(asked.parameters())
    assert list(inspect.signature(call).parameters) == names
    section = inspect.getdoc(call).partition("Parameters\n")[2].partition("\nReturns\n")[0]
    lines = section.splitlines()
    for name in names:
        at = next(i for i, line in enumerate(lines) if line.startswith(f"{name} : "))
        assert lines[at + 1].startswith("    ")  # and what it is
    assert max(map(len, lines)) <= 100
    assert call.__module__ == asked.__module__
    with pytest.raises(TypeError, match=rf"^{call.__name__}\(\) got an unexpected keyword"):
        call(NOISE, 4, cycle=3)
    with pytest.raises(TypeError, match=rf"^{call.__name__}\(\) missing .*'{names[0]}'"):
        call()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_an_option_for_each_parameter(command):
    (parser,) = (one for words, one in leaves(_parser(command)) if words == command)
    for asked in COMMANDS[command]:
        for one in asked.parameters().values():
            assert one.option is None or f"--{one.option}" in parser._option_string_actions


def test_plain_values_make_the_question_again():
    asked = SlowdownQuestion("period=1ms,duration=10us", "4..16", message_bytes="1K", cycles=3)
    table = asked.to_dict()
    assert table["ranks"] == [4, 8, 16]
    assert table["network"] == {"kind": "loggops", "L": 1e-6, "o": 2e-7, "g": 0.0, "G": 1e-10,
                                "O": 0.0, "gamma": 0.0}  # fmt: skip
    assert not set(table) & set(SlowdownQuestion.parameters(ENGINE))
    assert SlowdownQuestion.from_dict(json.loads(json.dumps(table))) == asked
    with pytest.raises(ValueError, match=r"unknown key 'cycle' \(did you mean 'cycles'\?\)"):
        SlowdownQuestion.from_dict({**table, "cycle": 3})


def test_values_stand_in_help_as_they_are_passed():
    assert "\n    auto, cpu or cuda, also called gpu." in jf.slowdown.__doc__
    assert "\n    allreduce, barrier, " in jf.advise.__doc__
    assert "\n    Message size." in jf.slowdown.__doc__


def test_errors_carry_the_field():
    for options, field, text in (
        ({"message_bytes": 0}, "message_bytes", "message_bytes must be an integer from 1 to"),
        ({"resamples": 20}, "resamples", "resamples must be 0 without a recording"),
        ({"noise": "period=1ms,duration=x"}, "noise", "noise[0]: duration must be a time"),
        ({"compute_time": "x"}, "compute_time", "compute_time must be a time"),
    ):
        with pytest.raises(FieldError) as raised:
            jf.slowdown(**{"noise": NOISE, "ranks": 4, **options})
        assert raised.value.field == field
        assert str(raised.value).startswith(text)
        assert str(pickle.loads(pickle.dumps(raised.value))) == str(raised.value)
    with pytest.raises(ValueError, match="other") as raised, naming_fields("others"):
        raise ValueError("other must not be")
    assert type(raised.value) is ValueError


def test_what_a_parameter_says_of_itself():
    @question
    class Small(Question):
        size: Bytes = Bytes("of a message", default=8, option="bytes")
        secret: Count = Count("of no option", default=1, low=0, high=9, option=None)

        def answer(self) -> int:
            """Double the size.

            Returns
            -------
            int
            """
            return 2 * self.size

    small = call_of(Small, Small.answer, "small")
    assert (small(), small("1K")) == (16, 2048)
    assert small.__doc__.startswith("Double the size.\n\nParameters\n----------\nsize : int | str")
    assert parameters_table([Small]).splitlines()[2:] == [
        "| `size` | `--bytes` | 8 | of a message |",
        "| `secret` |  | 1 | of no option |",
    ]
    chosen = parser_of(Small).parse_args(["--bytes", "4,8"])
    with pytest.raises(ValueError, match=r"^--bytes must be one size, got '4,8': for several"):
        read_question(chosen, Small)
    chosen = parser_of(Small).parse_args(["--bytes", "1,048,576"])
    with pytest.raises(ValueError, match=r"'1,048,576': 1,048,576 is written 1048576; for several"):
        read_question(chosen, Small)
