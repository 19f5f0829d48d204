"""Parser and assembler of PTX: text to programs for machine.cpp.

What an instruction does is known to machine.cpp alone, which refuses those that it does not know.
Here is only what the text of PTX needs: registers are numbered, labels become positions, and
variables are given places in memory. (PTX ISA, chapters "Syntax" and "State Spaces, Types, and
Variables".)

A register holds 64 bits. The first three of a function hold where memory of the thread begins:
parameters of the kernel, local variables of the function, dynamic shared memory (an offset in that
of the block). Parameters and results of functions are local variables of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
FUNCTION = re.compile(
    r"\.(entry|func)\s+(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?([^{};()]*)([{;])"
)
# What stands in the body of a function: a brace, a label, or a statement (with vectors in braces).
BRACE = re.compile(r"[{}]")
PART = re.compile(r"\s*(?:([{}])|([\w$]+)\s*:|([^;{}]*(?:\{[^;{}]*\}[^;{}]*)*);)")
INSTRUCTION = re.compile(r"(?:@(!?)([\w$%]+)\s+)?([\w.:]+)\s*(.*)", re.DOTALL)
CALL = re.compile(r"(?:\(([^)]*)\)\s*,\s*)?([\w$]+)\s*(?:,\s*\(([^)]*)\))?")
OPERAND = re.compile(r"\[([^\]]*)\]|\{([^}]*)\}|([^\s,|\[\]{}]+)")
ADDRESS = re.compile(r"\s*([\w$%.]+)\s*(?:\+\s*(-?\d+))?\s*")
NUMBER = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|\d+)U?")
VARIABLE = re.compile(
    r"\.(param|local|shared|global|const)\s+(?:\.align\s+(\d+)\s+)?\.([a-z]+)(\d+)\s+"
    r"(?:\.ptr\s+(?:\.(?!align)\w+\s+)?(?:\.align\s+\d+\s+)?)?([\w$]+)(\[\d*\])?"
)
REGISTERS = re.compile(r"\.reg\s+\.\w+\s+(.*)", re.DOTALL)

# Of no effect where threads take turns, memory has no caches, and all addresses are the machine's.
# (Shared memory is the exception: its addresses are offsets.)
MEMORY = {"ld", "ldu", "st", "atom", "red"}
IN_MEMORY = re.compile(
    r"weak|volatile|relaxed|acquire|release|acq_rel|cta|gpu|sys|nc|L[12]::.*|"
    r"global|local|const|param(::\w+)?"
)
CONTROL = {"bar", "barrier", "bra", "brx", "call", "cvta", "ret"}
IN_CONTROL = re.compile(r"uni|aligned|cta|global|local|const|param")


class UnknownPtx(ValueError):
    """PTX that is not understood."""


class Place(NamedTuple):
    """An address: an operand, and bytes from there."""

    base: int
    offset: int = 0


PARAMETERS, LOCAL, DYNAMIC = range(3)  # registers


@dataclass(frozen=True)
class Variable:
    space: str
    align: int
    bytes: int  # 0: as many as the launch asks for
    name: str


def variables(text: str | None) -> list[Variable]:
    """The declarations in a text."""
    found = []
    for space, align, _, bits, name, count in VARIABLE.findall(text or ""):
        size = int(bits) // 8
        number = int(count[1:-1] or 0) if count else 1
        found.append(Variable(space, int(align or size), size * number, name))
    return found


@dataclass(frozen=True)
class Function:
    name: str
    is_kernel: bool
    returns: list[Variable]
    parameters: list[Variable]
    most_threads: int  # of a block; 0: not said
    line: int  # where its body begins
    body: str


class Module:
    """The functions of a file of PTX."""

    def __init__(self, text: str):
        text = COMMENT.sub(lambda match: "\n" * match[0].count("\n"), text)
        self.functions: dict[str, Function] = {}
        outside = ""
        end = line = counted = 0
        while match := FUNCTION.search(text, end):
            outside += text[end : match.start()]
            end = match.end()
            if match[6] == ";":  # the body follows later
                continue
            line += text.count("\n", counted, end)
            counted, begin = end, end
            end = end_of_scope(text, begin)
            threads = re.search(r"\.maxntid\s+(\d+)\D*(\d*)\D*(\d*)", match[5])
            most = 0
            if threads:
                most = int(threads[1]) * int(threads[2] or 1) * int(threads[3] or 1)
            self.functions[match[3]] = Function(
                match[3], match[1] == "entry", variables(match[2]), variables(match[4]), most,
                line + 1, text[begin : end - 1])  # fmt: skip
        self.variables = {one.name: one for one in variables(outside + text[end:])}

    def kernels(self, prefix: str = "") -> list[str]:
        """Names of the kernels that begin so."""
        return [f.name for f in self.functions.values()
                if f.is_kernel and f.name.startswith(prefix)]  # fmt: skip


def end_of_scope(text: str, begin: int) -> int:
    """Where the scope that begins there has ended."""
    depth = 1
    for brace in BRACE.finditer(text, begin):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    raise UnknownPtx("the file ends within a function")


@dataclass
class Instruction:
    line: int
    guard: int  # 0: none; else the number of a register, and 1; negative: executed if it is false
    opcode: str
    operands: list[int | str]  # text: a label, which becomes its position


class Assembly:
    """A function."""

    def __init__(self, module: Module, function: Function):
        self.module = module
        self.function = function
        self.code: list[Instruction] = []
        self.labels: dict[str, int] = {}
        self.constants: dict[int, int] = {}
        self.special: dict[str, int] = {}
        self.calls: dict[str, int] = {}  # names of functions: numbers in this one
        self.registers = 3
        self.local = self.shared = 0
        self.ranges: set[str] = set()  # names of registers, without the number
        own = [*function.returns, *function.parameters]
        places = {
            one.name: Place(PARAMETERS if function.is_kernel else LOCAL, offset)
            for one, offset in zip(own, offsets(own), strict=True)
        }
        if not function.is_kernel:
            self.local = max((places[one.name].offset + one.bytes for one in own), default=0)
        self.scopes: list[dict[str, int | Place | list[str]]] = [dict(places), {}]
        self.assemble(function.body)

    def text(self, called: list[int]) -> str:
        """What machine.cpp reads; the functions that are called have these numbers."""
        special = [f"{slot} {name}" for name, slot in self.special.items()]
        lines = [
            f"function {self.function.name} {self.registers} {aligned(self.local, 16)}",
            " ".join([str(len(special)), *special]),
            " ".join(map(str, [len(self.constants), *self.constants])),
            " ".join(map(str, [len(called), *called])),
            str(len(self.code)),
        ]
        for one in self.code:
            words = [self.labels[o] if isinstance(o, str) else o for o in one.operands]
            lines.append(f"{one.line} {one.guard} {one.opcode} {len(words)} "
                         f"{' '.join(map(str, words))}")  # fmt: skip
        return "\n".join(lines) + "\n"

    def add(self, line: int, opcode: str, operands: list[int | str], guard: int = 0) -> None:
        self.code.append(Instruction(line, guard, opcode, operands))

    def register(self) -> int:
        self.registers += 1
        return self.registers - 1

    def constant(self, value: int) -> int:
        """The operand that has this value: -1, -2, ... for the first, the second, ..."""
        return ~self.constants.setdefault(value % 2**64, len(self.constants))

    def local_place(self, variable: Variable) -> Place:
        begin = aligned(self.local, variable.align)
        self.local = begin + variable.bytes
        return Place(LOCAL, begin)

    def shared_place(self, variable: Variable) -> Place:
        if variable.bytes == 0:
            return Place(DYNAMIC)
        if not self.function.is_kernel:
            raise UnknownPtx("static shared memory of a function that is no kernel")
        begin = aligned(self.shared, variable.align)
        self.shared = begin + variable.bytes
        return Place(self.constant(0), begin)

    def assemble(self, body: str) -> None:
        line, counted = self.function.line, 0
        for part in parts(body):
            brace, label, statement = part.groups()
            start = part.start(part.lastindex or 0)
            line += body.count("\n", counted, start)
            counted = start
            try:
                if brace == "{":
                    self.scopes.append({})
                elif brace:
                    self.scopes.pop()
                elif label:
                    self.labels[label] = len(self.code)
                    self.branch_targets(label, body[part.end() : part.end() + 20_000])
                elif statement.strip():
                    self.statement(line, statement.strip())
            except UnknownPtx as error:
                text = " ".join(part[0].split())
                raise UnknownPtx(f"{self.function.name}, line {line}: {text} {error}") from error
        self.add(line, "ret", [])

    def branch_targets(self, label: str, following: str) -> None:
        """A label may be the name of a list of labels."""
        if match := re.match(r"\s*\.branchtargets\s+([^;]*);", following):
            self.scopes[-1][label] = [name.strip() for name in match[1].split(",")]

    def statement(self, line: int, text: str) -> None:
        if text.startswith("."):
            self.declaration(text)
            return
        match = INSTRUCTION.fullmatch(text)
        if not match:
            raise UnknownPtx("is not an instruction")
        negated, predicate, opcode, rest = match.groups()
        guard = 0
        if predicate:
            guard = 1 + self.operand(predicate)
            guard = -guard if negated else guard
        name = spelled(opcode)
        if name == "call":
            self.call(line, guard, rest)
        elif name == "bra":
            self.add(line, name, [rest.strip()], guard)
        elif name == "brx.idx":
            index, targets = (word.strip() for word in rest.split(","))
            labels = self.found(targets)
            if not isinstance(labels, list):
                raise UnknownPtx(f"has no list of labels {targets}")
            self.add(line, name, [self.operand(index), len(labels), *labels], guard)
        else:
            self.instruction(line, guard, name, rest)

    def declaration(self, text: str) -> None:
        scope = self.scopes[-1]
        if match := REGISTERS.fullmatch(text):
            for name in map(str.strip, match[1].split(",")):
                if name.endswith(">"):
                    self.ranges.add(name.split("<")[0])
                else:
                    scope[name] = self.register()
        elif found := variables(text):
            [variable] = found
            if variable.space == "shared":
                scope[variable.name] = self.shared_place(variable)
            elif variable.space in ("local", "param"):
                scope[variable.name] = self.local_place(variable)
            else:
                raise UnknownPtx(f"a variable in {variable.space} memory")
        elif not text.startswith((".pragma", ".loc", ".branchtargets")):
            raise UnknownPtx("not a declaration")

    def call(self, line: int, guard: int, text: str) -> None:
        """Operands: the function's number here; bytes to copy there; bytes to copy back.

        Both are lists: how many copies, and for each its offset here, its offset there, its bytes.
        """
        match = CALL.fullmatch(text)
        callee = self.module.functions.get(match[2]) if match else None
        if callee is None:
            raise UnknownPtx("calls what is not in the file")
        formal = [*callee.returns, *callee.parameters]
        there = offsets(formal)
        number = len(callee.returns)
        operands: list[int | str] = [self.calls.setdefault(callee.name, len(self.calls))]
        for names, copied in (
            (match[3], zip(formal[number:], there[number:], strict=True)),
            (match[1], zip(formal[:number], there[:number], strict=True)),
        ):
            actual = [name.strip() for name in (names or "").split(",") if name.strip()]
            operands.append(len(actual))
            for name, (variable, offset) in zip(actual, copied, strict=True):
                place = self.found(name)
                if not isinstance(place, Place) or place.base != LOCAL:
                    raise UnknownPtx("has a parameter that is no variable")
                operands += [place.offset, offset, variable.bytes]
        self.add(line, "call", operands, guard)

    def instruction(self, line: int, guard: int, name: str, text: str) -> None:
        operands: list[int | str] = []
        for number, (address, vector, plain) in enumerate(OPERAND.findall(text)):
            if address:
                place = self.address(address)
                operands += [place.base, place.offset]
            elif vector:
                words = [word.strip() for word in vector.split(",")]
                operands += [self.operand(word) for word in words]
                if name.startswith("mov."):
                    kind = "unpack" if number == 0 else "pack"
                    name = f"{kind}{len(words)}.{name.split('.')[1]}"
            elif name.startswith("mov.") and isinstance(place := self.named(plain), Place):
                name = "add.u64"
                operands += [place.base, self.constant(place.offset)]
            elif plain.startswith("!"):
                operands.append(self.register())
                self.add(line, "not.pred", [operands[-1], self.operand(plain[1:])])
            else:
                operands.append(self.operand(plain))
        if name.startswith(("setp.", "shfl.")) and "|" in text:
            name = f"two.{name}"  # results
        self.add(line, name, operands, guard)

    def address(self, text: str) -> Place:
        match = ADDRESS.fullmatch(text)
        if not match:
            raise UnknownPtx(f"the address {text}")
        found, offset = self.named(match[1]), int(match[2] or 0)
        if isinstance(found, Place):
            return Place(found.base, found.offset + offset)
        return Place(self.operand(match[1]), offset)

    def operand(self, name: str) -> int:
        """The number of a register or constant."""
        if NUMBER.fullmatch(name):
            return self.constant(int(name.rstrip("U"), 0))
        if name == "_":  # a result that is not wanted
            return self.register()
        found = self.named(name)
        if not isinstance(found, int):
            raise UnknownPtx(f"what is {name}?")
        return found

    def named(self, name: str) -> int | Place | list[str] | None:
        found = self.found(name)
        if found is not None:
            return found
        if name.rstrip("0123456789") in self.ranges:
            self.scopes[1][name] = self.register()
            return self.scopes[1][name]
        if name in self.module.variables:
            variable = self.module.variables[name]
            if variable.space != "shared":
                raise UnknownPtx(f"a variable in {variable.space} memory")
            self.scopes[0][name] = self.shared_place(variable)
            return self.scopes[0][name]
        if name.startswith("%"):
            if name not in self.special:
                self.special[name] = self.register()
            return self.special[name]
        return None

    def found(self, name: str) -> int | Place | list[str] | None:
        """What was declared under this name, in the innermost scope."""
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)


def assemble(kernels: Iterable[tuple[Module, str]]) -> str:
    """What machine.cpp reads: these kernels, and the functions that they call."""
    text: list[str] = []
    numbers: dict[tuple[int, str], int] = {}
    needed: dict[tuple[int, str], int] = {}

    def add(module: Module, name: str, callers: tuple[str, ...]) -> int:
        """Returns the bytes of local memory of the function and of those that it calls."""
        if name in callers:
            raise UnknownPtx(f"{name} calls itself")
        key = (id(module), name)
        if key in needed:
            return needed[key]
        one = Assembly(module, module.functions[name])
        below = [add(module, callee, (*callers, name)) for callee in one.calls]
        needed[key] = aligned(one.local, 16) + max(below, default=0)
        numbers[key] = len(numbers)
        text.append(one.text([numbers[id(module), callee] for callee in one.calls]))
        if one.function.is_kernel:
            parameters = one.function.parameters
            words = [numbers[key], needed[key], one.shared, one.function.most_threads,
                     len(parameters)]  # fmt: skip
            for variable, offset in zip(parameters, offsets(parameters), strict=True):
                words += [offset, variable.bytes]
            text.append(f"kernel {' '.join(map(str, words))}\n")
        return needed[key]

    for module, name in kernels:
        add(module, name, ())
    return "".join(text)


def offsets(variables: list[Variable]) -> list[int]:
    """Where they lie, one after the other."""
    found, end = [], 0
    for variable in variables:
        found.append(aligned(end, variable.align))
        end = found[-1] + variable.bytes
    return found


def parts(body: str) -> Iterator[re.Match[str]]:
    """Braces, labels and statements of a function."""
    end, last = 0, len(body.rstrip())
    while end < last:
        match = PART.match(body, end)
        if not match:
            raise UnknownPtx(f"what is {body[end : end + 80]!r}?")
        yield match
        end = match.end()


def spelled(opcode: str) -> str:
    """An opcode without what has no effect here."""
    base, *modifiers = opcode.replace("shared::cta", "shared").split(".")
    if base in MEMORY:
        base = "ld" if base == "ldu" else base
        modifiers = [one for one in modifiers if not IN_MEMORY.fullmatch(one)]
    elif base in CONTROL:
        base = "bar" if base == "barrier" and "aligned" in modifiers else base
        modifiers = [one for one in modifiers if not IN_CONTROL.fullmatch(one)]
    elif base in ("membar", "fence") and not {"proxy", "mbarrier_init"} & set(modifiers):
        base, modifiers = "fence", []
    return ".".join([base, *modifiers])


def aligned(offset: int, to: int) -> int:
    return -(-offset // to) * to
