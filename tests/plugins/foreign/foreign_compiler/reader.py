"""Reads the text of tile programs into nested lists of its tokens, in their order.

What statements there are is read from the list in the grammar document. A statement is a dictionary
of its parts in order, by the names that the form in that list has for them, or by their place.
"""

import re

NUMBER = r"0x[\da-f.]+(?:p[+-]?\d+)?|\d+(?:\.\d*)?(?:e[+-]?\d+)?|(?:inf|nan(?:\(0x[\da-f]+\))?)\b"
TOKEN = re.compile(rf'"(?:\\.|[^"\\])*"|(?:{NUMBER})(?::[a-z]\w*)?|\w+|->|//|<<|>>|[<>=!]=|[^\s\w]')
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*")|#.*')
PIECE = re.compile(r'\?\(|"?\$\w+"?|\w+|->|<=|[^\s\w]')
OPERATORS = "or;and;;< <= > >= == !=;|;^;&;<< >>;+ -;* / // %"
ROWS = [row.split() for row in OPERATORS.split(";")]
SCOPES, BODIES = {"global", "shared", "fragment", "local", "var"}, {"body", "then", "orelse"}
PROPERTIES = {"strides", "slots", "offset", "safe", "layout"}


class Reader:
    """A position in the tokens of a text."""

    def __init__(self, text, document):
        lines = COMMENT.sub(lambda m: m[1] or "", text).splitlines()
        self.tokens = [(t, n) for n, line in enumerate(lines) for t in TOKEN.findall(line)]
        listed = document.rpartition("```text\n")[2].rpartition("```")[0].splitlines()
        self.forms = {f.split()[0]: PIECE.findall(f)[1:] for f in listed if f[:1].isalpha()}
        self.at = 0

    def ahead(self, n=0):
        return self.tokens[self.at + n][0] if self.at + n < len(self.tokens) else ""

    def take(self, count=1, wanted=None):
        found = [self.ahead(n) for n in range(count)]
        if "" in found or wanted not in (None, found[0]):
            raise SyntaxError(f"token {self.at}: {wanted or 'more'} wanted, not {found[0]!r}")
        self.at += count
        return found[0] if count == 1 else found

    def listed(self, end, one):
        found = []
        while self.ahead() != end:
            found += [one(), *([self.take(1, ",")] if self.ahead() != end else [])]
        return found

    def bracketed(self):
        """Tokens up to the one that closes the first."""
        found, depth = [self.take()], 1
        while depth:
            found.append(self.take())
            depth += (found[-1] in "([") - (found[-1] in ")]")
        return found

    def module(self):
        """The version line, then the functions: head and body."""
        found = [self.take([token for token, _ in self.tokens].index("func"))]
        while self.ahead():
            head = [*self.take(4), *self.listed(")", self.value), self.take()]
            while self.ahead() != "{":
                head += [self.take(), self.value()]
            found.append([head, self.body()])
        return found

    def body(self):
        found = [self.take(1, "{")]
        while self.ahead() != "}":
            found.append(self.take() if self.ahead() == ";" else self.statement())
        return [*found, self.take()]

    def statement(self):
        made = {0: self.take()}
        self.match(self.forms[made[0]], made)
        return self.attributes(made)

    def match(self, pieces, made):
        while pieces:
            (piece, *pieces), then = pieces, (*pieces[1:], "")[0]
            if piece == "?(":
                close = pieces.index(")")
                self.match(pieces[:close] if self.ahead() == then else [], made)
                pieces = pieces[close + 1 :]
            elif "$" not in piece:
                made[len(made)] = self.take(1, piece)
            else:
                made[piece.strip('"$')] = self.field(piece.strip('"$'), then, made)
                if then in ("[", "$slot"):  # an element of a buffer is one part
                    pieces = pieces[pieces.index("]") + 1 :]

    def field(self, name, then, made):
        if name in BODIES:
            return self.attributes(made) and self.body()
        if name in ("producer", "consumer"):
            found = self.take(4 if self.ahead(2) == "arrivals" else 2)
            return found + (self.take(2) if self.ahead() == "per" else [])
        if then in (")", "]"):
            return self.listed(then, self.value)
        return self.take() if then in (":", "<=", "(") else self.value()

    def attributes(self, made):
        line = self.tokens[self.at - 1][1]
        while self.ahead() not in ("{", "}", ";", "") and self.tokens[self.at][1] == line:
            made[len(made)] = name = self.take()
            if self.ahead() == "=" or name == "loc":
                made[len(made)] = self.take() if name != "loc" else []
                made[f"{name} ="] = self.bracketed() if self.ahead() in "([" else self.value()
        return made

    def value(self):
        """An expression, a region, a name with its type, or a buffer."""
        if self.ahead() == "region":
            return [self.take(), self.value()]
        if self.ahead(1) != ":" or not self.ahead(2)[:1].isalpha():
            return self.expression()
        found = self.take(3)
        if found[2] in SCOPES:
            found += [*self.take(2), *self.listed("]", self.expression), self.take()]
            while self.ahead() in PROPERTIES:
                found += [self.take(), self.bracketed() if self.ahead() == "[" else self.index()]
        return found

    def index(self):
        found = [] if self.ahead() == ":" else [self.expression()]
        if self.ahead() == ":":
            found += [*self.take(2), self.expression()] if self.ahead(1) == "+" else [self.take()]
        return found

    def expression(self, row=0):
        if row == len(ROWS):
            return self.primary()
        if not ROWS[row] and self.ahead() == "not":
            return [self.take(), self.expression(row)]
        left = self.expression(row + 1)
        while self.ahead() in ROWS[row]:
            left = [left, self.take(), self.expression(row + 1)]
        return left

    def primary(self):
        found = [self.take()]
        if found[0] in ("-", "~"):
            return [*found, self.primary()]
        found += self.take(3) if found[0] == "bitcast" else []
        if self.ahead() == "@":
            found += [*self.take(2), *(self.bracketed() if self.ahead(1) == "-" else [])]
        if found == ["("] or self.ahead() in ("(", "["):
            found += [] if found == ["("] else [self.take()]
            end, one = (")", self.value) if found[-1] == "(" else ("]", self.index)
            found += [*self.listed(end, one), self.take()]
        return found if len(found) > 1 else found[0]
