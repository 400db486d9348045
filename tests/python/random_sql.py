"""Random queries in SQL over random tables, where DuckDB and garuda mean the same by them.

The languages differ in quotients of integers, casts that round, overflow, averages of decimals and the order of rows that
a query does not sort. Queries keep to what both say alike: numbers are small, remainders are of divisors that are not
zero, and a LIMIT stands behind an ORDER BY of every column.
"""

from __future__ import annotations

import datetime
import decimal
import random
from typing import Any, Callable, NamedTuple, Optional

import pyarrow


class Column(NamedTuple):
    """A column in scope: how a query names it, and its kind."""

    text: str
    kind: str


#: Kinds of values and the types of Arrow that their columns have.
KINDS = {
    "int": pyarrow.int64(),
    "small": pyarrow.int32(),
    "float": pyarrow.float64(),
    "odd": pyarrow.float64(),
    "decimal": pyarrow.decimal128(9, 2),
    "text": pyarrow.string(),
    "word": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    "view": pyarrow.string_view(),
    "bool": pyarrow.bool_(),
    "date": pyarrow.date32(),
    "time": pyarrow.timestamp("us"),
}
#: Kinds of columns whose values an expression of a kind takes.
TAKES = {
    "int": ("int", "small"), "float": ("float",), "odd": ("odd", "float"), "decimal": ("decimal",),
    "text": ("text", "word", "view"), "bool": ("bool",), "date": ("date",), "time": ("time",), "big": ("big", "decimal"),
}  # fmt: skip
TEXTS = ["", "a", "A", "ab", "b", "ba", "xx", "Äb", "日本", "a text of more than twelve bytes"]
DATES = [datetime.date(1969, 12, 31), datetime.date(1970, 1, 1), datetime.date(2000, 2, 29), datetime.date(2024, 1, 31),
         datetime.date(2024, 2, 29), datetime.date(1999, 12, 31)]  # fmt: skip
TIMES = [datetime.datetime(1970, 1, 1), datetime.datetime(1969, 12, 31, 23, 59, 59, 999999),
         datetime.datetime(2024, 2, 29, 12, 30, 15, 500), datetime.datetime(2000, 1, 1, 1)]  # fmt: skip
#: Values of a kind. Averages of decimals (`mean`) and sums of them (`big`) have none: no arithmetic takes them.
VALUES: dict[str, Callable[[random.Random], Any]] = {
    "int": lambda draw: draw.choice([0, 1, 2, 3, 4, 5, -1, -3, 10, 100]),
    "small": lambda draw: draw.choice([0, 1, 2, 3, -1, -2, 7]),
    "float": lambda draw: draw.randrange(-40, 40) / 8,
    "odd": lambda draw: draw.choice([0.0, -0.0, 1.5, -2.0, float("nan"), float("inf"), float("-inf"), 3.0]),
    "decimal": lambda draw: decimal.Decimal(draw.choice([0, 50, 125, -5, 300, 1234, -999])).scaleb(-2),
    "text": lambda draw: draw.choice(TEXTS),
    "word": lambda draw: draw.choice(TEXTS[:5]),
    "view": lambda draw: draw.choice(TEXTS),
    "bool": lambda draw: draw.random() < 0.5,
    "date": lambda draw: draw.choice(DATES),
    "time": lambda draw: draw.choice(TIMES),
}


def random_table(draw: random.Random, prefix: str) -> pyarrow.Table:
    """Columns k and g, which every table has, then PREFIX_KIND, in up to three chunks."""
    rows = draw.choice([0, 1, 3, 8, 20, 20, 40]) if draw.random() < 0.98 else draw.choice([1023, 1024, 1025])
    kinds = {"k": draw.choice(["int", "small"]), "g": draw.choice(["text", "word"])}
    kinds.update({f"{prefix}_{kind}": kind for kind in KINDS})
    columns = {}
    for name, kind in kinds.items():
        nulls = draw.choice([0.0, 0.1, 0.4])
        values = [None if draw.random() < nulls else VALUES[kind](draw) for _ in range(rows)]
        columns[name] = pyarrow.array(values, KINDS[kind])
    table = pyarrow.table(columns)
    cut = draw.randrange(rows + 1)
    return pyarrow.concat_tables([table.slice(0, cut), table.slice(cut)]) if draw.random() < 0.5 else table


def kinds_of(table: pyarrow.Table) -> dict[str, str]:
    """The kinds of the columns of random_table."""
    kinds = {field.name: field.name.split("_")[-1] for field in table.schema}
    kinds["k"] = "int" if table.schema.field("k").type == pyarrow.int64() else "small"
    kinds["g"] = "text" if table.schema.field("g").type == pyarrow.string() else "word"
    return kinds


class Expressions:
    """Random expressions over columns in scope."""

    def __init__(self, draw: random.Random, columns: list[Column]) -> None:
        self.draw = draw
        self.columns = columns

    def kind(self) -> str:
        kinds = ["int", "int", "float", "odd", "decimal", "text", "text", "bool", "date", "time"]
        return self.draw.choice(kinds)

    def any(self, depth: int = 2) -> Column:
        kind = self.kind()
        return Column(self.of(kind, depth), kind)

    def column(self) -> Optional[Column]:
        return self.draw.choice(self.columns) if self.columns else None

    def leaf(self, kind: str) -> str:
        fitting = [column.text for column in self.columns if column.kind in TAKES[kind]]
        return self.draw.choice(fitting) if fitting and self.draw.random() < 0.8 else self.constant(kind)

    def constant(self, kind: str) -> str:
        if self.draw.random() < 0.06:
            sql = {"int": "bigint", "float": "double", "odd": "double", "decimal": "decimal(9, 2)", "text": "varchar",
                   "bool": "boolean", "date": "date", "time": "timestamp", "big": "decimal(9, 2)"}  # fmt: skip
            return f"cast(null as {sql[kind]})"
        value = VALUES["decimal" if kind == "big" else "float" if kind == "odd" else kind](self.draw)
        if kind in ("text",):
            return "'" + value + "'"
        if kind == "date":
            return f"date '{value}'"
        if kind == "time":
            return f"timestamp '{value}'"
        if kind in ("float", "odd"):
            return f"cast({value} as double)"
        if kind in ("decimal", "big"):
            return f"cast({value} as decimal(9, 2))"
        return str(value).lower() if value is not None else "null"

    def of(self, kind: str, depth: int) -> str:
        if depth <= 0 or self.draw.random() < 0.25:
            return self.leaf(kind)
        if self.draw.random() < 0.2:
            return self.choice(kind, depth - 1)
        make = getattr(self, f"_{kind}", None)
        return make(depth - 1) if make is not None else self.leaf(kind)

    def choice(self, kind: str, depth: int) -> str:
        a, b = self.of(kind, depth), self.of(kind, depth)
        which = self.draw.randrange(6)
        if which == 0:
            return f"coalesce({a}, {b})"
        if which == 1 and kind != "bool":
            return f"nullif({a}, {b})"
        if which == 2 and kind not in ("bool", "odd"):
            return f"{self.draw.choice(['greatest', 'least'])}({a}, {b})"
        if which == 3:
            value = self.of("int", depth)
            return f"case {value} when {self.constant('int')} then {a} when {self.constant('int')} then {b} end"
        other = f" else {b}" if self.draw.random() < 0.7 else ""
        return f"case when {self.of('bool', depth)} then {a}{other} end"

    def _int(self, depth: int) -> str:
        which = self.draw.randrange(9)
        a, b = self.of("int", depth), self.of("int", depth)
        if which < 3:
            return f"({a} {self.draw.choice('+-*')} {b})"
        if which == 3:
            return f"({a} % nullif({b}, 0))"
        if which == 4:
            return f"abs({a})"
        if which == 5:
            return f"(- {a})"
        if which == 6:
            field = self.draw.choice(["year", "month", "day", "quarter", "week", "doy"])
            return f"cast(extract({field} from {self.of(self.draw.choice(['date', 'time']), depth)}) as bigint)"
        if which == 7:
            return f"cast(length({self.of('text', depth)}) as bigint)"
        return f"cast({self.of('bool', depth)} as bigint)"

    def _float(self, depth: int) -> str:
        a, b = self.of("float", depth), self.of("float", depth)
        which = self.draw.randrange(7)
        if which < 3:
            return f"({a} {self.draw.choice('+-*')} {b})"
        if which == 3:
            return f"cast({self.of('int', depth)} as double)"
        if which == 4:
            return f"{self.draw.choice(['abs', 'floor', 'ceil', 'round'])}({a})"
        if which == 5:
            return f"({a} / nullif({b}, 0))"
        return f"(- {a})"

    def _decimal(self, depth: int) -> str:
        return f"cast(({self.leaf('decimal')} {self.draw.choice('+-')} {self.leaf('decimal')}) as decimal(9, 2))"

    def _big(self, depth: int) -> str:
        a, b = self.leaf("decimal"), self.leaf("decimal")
        return self.draw.choice([f"({a} * {b})", f"({a} + {b})", f"abs({a})", f"({a} * {self.leaf('int')})", f"round({a}, 1)"])

    def _text(self, depth: int) -> str:
        a = self.of("text", depth)
        which = self.draw.randrange(7)
        if which == 0:
            return f"{self.draw.choice(['upper', 'lower', 'trim', 'ltrim', 'rtrim'])}({a})"
        if which == 1:
            return f"substring({a}, {self.draw.randrange(1, 4)}, {self.draw.randrange(4)})"
        if which == 2:
            return f"({a} || {self.of('text', depth)})"
        if which == 3:
            return f"concat({a}, {self.of('text', depth)})"
        if which == 4:
            return f"cast({self.of(self.draw.choice(['int', 'decimal', 'bool', 'date']), depth)} as varchar)"
        if which == 5:
            return f"regexp_replace({a}, '[ab]', 'x')"
        return f"left({a}, {self.draw.randrange(4)})"

    def _date(self, depth: int) -> str:
        which = self.draw.randrange(3)
        if which == 0:
            unit = self.draw.choice(["year", "quarter", "month", "week", "day"])
            return f"cast(date_trunc('{unit}', cast({self.of('date', depth)} as timestamp)) as date)"
        if which == 1:
            return f"cast({self.of('time', depth)} as date)"
        unit = self.draw.choice(["1 month", "13 months", "3 days", "1 year"])
        return f"cast({self.of('date', depth)} {self.draw.choice('+-')} interval '{unit}' as date)"

    def _time(self, depth: int) -> str:
        which = self.draw.randrange(3)
        if which == 0:
            return f"date_trunc('{self.draw.choice(['year', 'month', 'day', 'hour', 'minute'])}', {self.of('time', depth)})"
        if which == 1:
            return f"cast({self.of('date', depth)} as timestamp)"
        value, sign = self.of("time", depth), self.draw.choice("+-")
        return f"({value} {sign} interval '{self.draw.choice(['1 month', '90 minutes', '2 days'])}')"

    def _bool(self, depth: int) -> str:
        which = self.draw.randrange(11)
        kind = self.kind()
        a = self.of(kind, depth)
        if which < 4:
            other = "float" if kind == "int" and self.draw.random() < 0.2 else kind
            operator = self.draw.choice(["=", "<>", "<", "<=", ">", ">=", "is distinct from", "is not distinct from"])
            return f"({a} {operator} {self.of(other, depth)})"
        if which == 4:
            return f"({self.of('bool', depth)} {self.draw.choice(['and', 'or'])} {self.of('bool', depth)})"
        if which == 5:
            return f"(not {self.of('bool', depth)})"
        if which == 6:
            return f"({a} is {self.draw.choice(['null', 'not null'])})"
        if which == 7:
            return f"({self.of('bool', depth)} is {self.draw.choice(['true', 'not true', 'false', 'not false'])})"
        if which == 8:
            values = ", ".join(self.constant(kind) for _ in range(self.draw.randrange(1, 5)))
            return f"({a} {self.draw.choice(['', 'not '])}in ({values}))"
        if which == 9:
            return f"({a} {self.draw.choice(['', 'not '])}between {self.leaf(kind)} and {self.leaf(kind)})"
        text = self.of("text", depth)
        pattern = "".join(self.draw.choice("%_ab日") for _ in range(self.draw.randrange(4)))
        tests = [f"({text} {self.draw.choice(['', 'not '])}like '{pattern}')", f"starts_with({text}, {self.constant('text')})",
                 f"contains({text}, {self.of('text', depth)})", f"ends_with({text}, {self.constant('text')})"]  # fmt: skip
        return self.draw.choice(tests)


class Queries:
    """Random queries over tables, from the seed of `draw`."""

    def __init__(self, draw: random.Random, tables: dict[str, pyarrow.Table]) -> None:
        self.draw = draw
        self.tables = {name: list(kinds_of(table).items()) for name, table in tables.items()}
        self.aliases = 0

    def query(self) -> str:
        """A whole query; ORDER BY of all columns decides the order of its rows where it has one."""
        text = ""
        depth = self.draw.choice([0, 1, 1, 2])
        if self.draw.random() < 0.2:
            inner, columns = self.select(depth)
            self.tables["c"] = [(column.text, column.kind) for column in columns]
            text = f"with c as ({inner}) "
        body, columns = self.select(depth, is_whole=True)
        if self.draw.random() < 0.35:
            body += " " + self.order(columns)
        return text + body

    def order(self, columns: list[Column]) -> str:
        names = [column.text for column in columns]
        self.draw.shuffle(names)
        keys = [f"{name}{self.draw.choice(['', ' desc'])} nulls {self.draw.choice(['first', 'last'])}" for name in names]
        limit = self.draw.choice(["", " limit 1", " limit 5", " limit 10 offset 3", " limit 0", " offset 4", " limit 1000"])
        return "order by " + ", ".join(keys) + limit

    def select(self, depth: int, *, is_whole: bool = False) -> tuple[str, list[Column]]:
        """A SELECT with names c0, c1, … for its columns."""
        which = self.draw.random()
        if which < 0.1 and depth > 0:
            return self.union(depth)
        source, scope = self.source(depth)
        expressions = Expressions(self.draw, scope)
        conditions = [expressions.of("bool", 3)] if self.draw.random() < 0.5 else []
        if depth > 0 and self.draw.random() < 0.3:
            conditions.append(self.subquery_test(expressions, depth))
        where = f" where {' and '.join(conditions)}" if conditions else ""
        if which < 0.45:
            return self.grouped(source + where, expressions, is_whole)
        items = []
        for _ in range(self.draw.randrange(1, 6)):
            plain = expressions.column() if self.draw.random() < 0.5 else None
            kind = "big" if self.draw.random() < 0.08 else None
            items.append(plain or (Column(expressions.of(kind, 2), kind) if kind else expressions.any(3)))
        if depth > 0 and self.draw.random() < 0.12:
            items.append(Column(self.scalar(depth), "int"))
        distinct = "distinct " if self.draw.random() < 0.2 else ""
        listed = ", ".join(f"{item.text} as c{i}" for i, item in enumerate(items))
        return f"select {distinct}{listed} from {source}{where}", [Column(f"c{i}", item.kind) for i, item in enumerate(items)]

    def union(self, depth: int) -> tuple[str, list[Column]]:
        kinds = [Expressions(self.draw, []).kind() for _ in range(self.draw.randrange(1, 4))]
        parts = []
        for _ in range(self.draw.choice([2, 2, 3])):
            source, scope = self.source(depth - 1)
            expressions = Expressions(self.draw, scope)
            listed = ", ".join(f"{expressions.of(kind, 1)} as c{i}" for i, kind in enumerate(kinds))
            where = f" where {expressions.of('bool', 2)}" if self.draw.random() < 0.4 else ""
            parts.append(f"select {listed} from {source}{where}")
        operation = self.draw.choice([" union all ", " union all ", " union "])
        names = [Column(f"c{i}", kind) for i, kind in enumerate(kinds)]
        return f"select * from ({operation.join(parts)}) u", names

    def grouped(self, source: str, expressions: Expressions, is_whole: bool) -> tuple[str, list[Column]]:
        keys = []
        for _ in range(self.draw.randrange(3)):
            key = (expressions.column() if self.draw.random() < 0.7 else None) or expressions.any(2)
            if "(" in key.text or "." in key.text:  # no constants, which would be positions of columns
                keys.append(key)
        items = [*keys, *(self.aggregate(expressions, is_whole) for _ in range(self.draw.randrange(0 if keys else 1, 4)))]
        listed = ", ".join(f"{item.text} as c{i}" for i, item in enumerate(items))
        group = f" group by {', '.join(key.text for key in keys)}" if keys else ""
        having = ""
        if self.draw.random() < 0.25:
            number, text = expressions.of("int", 1), expressions.of("text", 1)
            having = f" having {self.draw.choice(['count(*) > 1', f'max({number}) > 1', f'min({text}) is not null'])}"
        return f"select {listed} from {source}{group}{having}", [Column(f"c{i}", item.kind) for i, item in enumerate(items)]

    def aggregate(self, expressions: Expressions, is_whole: bool) -> Column:
        where = f" filter (where {expressions.of('bool', 1)})" if self.draw.random() < 0.2 else ""
        which = self.draw.randrange(11 if is_whole else 8)
        if which == 0:
            return Column(f"count(*){where}", "int")
        if which == 1:
            return Column(f"count({self.draw.choice(['', 'distinct '])}{expressions.any(2).text}){where}", "int")
        if which < 4:
            return Column(f"cast(sum({expressions.of('int', 2)}){where} as bigint)", "int")
        if which < 6:
            kind = self.draw.choice(["int", "float", "odd", "text", "date", "time", "decimal", "bool"])
            return Column(f"{self.draw.choice(['min', 'max'])}({expressions.of(kind, 2)}){where}", kind)
        if which == 6:
            return Column(f"{self.draw.choice(['bool_and', 'bool_or'])}({expressions.of('bool', 2)}){where}", "bool")
        if which == 7:
            return Column(f"sum({expressions.of('decimal', 1)}){where}", "big")
        if which == 8:
            return Column(f"avg({expressions.of(self.draw.choice(['int', 'float']), 2)}){where}", "float")
        if which == 9:
            return Column(f"sum({expressions.of('float', 2)}){where}", "float")
        return Column(f"avg({expressions.leaf('decimal')}){where}", "mean")

    def alias(self) -> str:
        self.aliases += 1
        return f"q{self.aliases}"

    def relation(self, depth: int) -> tuple[str, list[Column], dict[str, str]]:
        """A table or a subquery with an alias, its columns, and its columns' kinds by bare names."""
        alias = self.alias()
        if depth > 0 and self.draw.random() < 0.3:
            text, columns = self.select(depth - 1)
            if self.draw.random() < 0.2:
                text += " " + self.order(columns)
            kinds = [(column.text, column.kind) for column in columns]
            return f"({text}) {alias}", [Column(f"{alias}.{name}", kind) for name, kind in kinds], dict(kinds)
        name = self.draw.choice(list(self.tables))
        kinds = self.tables[name]
        return f"{name} {alias}", [Column(f"{alias}.{column}", kind) for column, kind in kinds], dict(kinds)

    def source(self, depth: int) -> tuple[str, list[Column]]:
        text, scope, names = self.relation(depth)
        for _ in range(self.draw.choice([0, 0, 1, 1, 2])):
            other, columns, other_names = self.relation(depth - 1)
            common = [name for name in names if other_names.get(name) == names[name] and name in ("k", "g")]
            which = self.draw.random()
            kind = self.draw.choice(["join", "join", "left join", "right join", "full join"])
            if which < 0.15 and common and kind == "join":
                text += f" join {other} using ({self.draw.choice(common)})"
            elif which < 0.25:
                text = f"{text} cross join {other}"
            elif which < 0.35 and "join" not in text:
                text = f"{text}, {other}"  # WHERE has the rows that match, as a rule
            else:
                equal = self.key(scope, columns) or "1 = 1"
                more = ""
                if self.draw.random() < 0.3:
                    more = f" and {Expressions(self.draw, scope + columns if kind == 'join' else columns).of('bool', 1)}"
                text += f" {kind} {other} on {equal}{more}"
            scope = scope + columns
            names = {**names, **other_names}
        return text, scope

    def key(self, scope: list[Column], columns: list[Column]) -> Optional[str]:
        """An equality of a column of each side."""
        kinds = ("int", "small", "text", "word", "date", "decimal")
        pairs = [(a, b) for a in scope for b in columns if a.kind == b.kind and a.kind in kinds]
        if not pairs:
            return None
        short = [(a, b) for a, b in pairs if a.text.split(".")[1] in ("k", "g")]
        a, b = self.draw.choice(short if short and self.draw.random() < 0.6 else pairs)
        return f"{a.text} {'=' if self.draw.random() < 0.9 else 'is not distinct from'} {b.text}"

    def subquery_test(self, expressions: Expressions, depth: int) -> str:
        text, columns, _ = self.relation(0)
        inner = Expressions(self.draw, columns)
        equal = self.key(expressions.columns, columns)
        where = f" where {inner.of('bool', 2)}" if self.draw.random() < 0.6 else ""
        which = self.draw.randrange(4)
        if which == 0:
            link = f"{' and' if where else ' where'} {equal}" if equal else ""
            return f"{self.draw.choice(['', 'not '])}exists (select 1 from {text}{where}{link})"
        if which == 1:
            kind = self.draw.choice(["int", "text", "date"])
            value, test = expressions.of(kind, 1), self.draw.choice(["in", "in", "not in"])
            return f"{value} {test} (select {inner.leaf(kind)} from {text}{where})"
        value = self.draw.choice(["max", "min", "sum"])
        link = f"{' and' if where else ' where'} {equal}" if equal and which == 2 else ""
        tested, operator = expressions.of("int", 1), self.draw.choice(["=", "<", ">", "<>"])
        return f"{tested} {operator} (select {value}({inner.of('int', 1)}) from {text}{where}{link})"

    def scalar(self, depth: int) -> str:
        text, columns, _ = self.relation(0)
        inner = Expressions(self.draw, columns)
        where = f" where {inner.of('bool', 1)}" if self.draw.random() < 0.5 else ""
        function = self.draw.choice(["max", "min", "sum", "count"])
        return f"(select cast({function}({inner.of('int', 1)}) as bigint) from {text}{where})"
