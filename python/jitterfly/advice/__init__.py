"""Algorithm selection (`advise`): compare algorithms of a collective over ranks and message sizes.

`question` is what is asked, `race` decides one cell, `ranking` says what it found there, `answer`
goes through all cells and is what comes out, `tuning` writes it for an MPI library. The algorithms
are listed in `algorithms.candidates`.
"""

from ..algorithms.candidates import (
    COLLECTIVES,
    Candidate,
    algorithm_named,
    known,
    register,
    table_of_kind,
)
from .answer import DECIDED, Advice, advise, search
from .question import (
    Progress,
    Question,
    load_question,
    own_names,
    question_of,
    read_question,
    setting_in_words,
)
from .ranking import AdviceCell, RankedCandidate
from .tuning import (
    TuningChoice,
    check_tuning,
    library_candidates,
    tuning_choices,
    tuning_format,
    write_tuning,
)

__all__ = [
    "COLLECTIVES",
    "DECIDED",
    "Advice",
    "AdviceCell",
    "Candidate",
    "Progress",
    "Question",
    "RankedCandidate",
    "TuningChoice",
    "advise",
    "algorithm_named",
    "check_tuning",
    "known",
    "library_candidates",
    "load_question",
    "own_names",
    "question_of",
    "read_question",
    "register",
    "search",
    "setting_in_words",
    "table_of_kind",
    "tuning_choices",
    "tuning_format",
    "write_tuning",
]
