"""Polars' lazy plans with garuda's joins and group-bys.

>>> import garuda.polars, polars
>>> left = polars.LazyFrame({"a": [1, 2, 3], "b": [7, 8, 7]})
>>> right = polars.LazyFrame({"b": [7, 8], "name": ["Ada", "Bo"]})
>>> plan = left.join(right, on="b", maintain_order="left").group_by("name", maintain_order=True).agg(polars.col("a").sum())
>>> engine = garuda.polars.Engine(prices=False)
>>> plan.collect(engine=engine).rows()
[('Ada', 4), ('Bo', 2)]
>>> [decision.engine for decision in engine.decisions]
['garuda', 'garuda']
"""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple, Optional, Union

import polars

from . import _polars_prices as prices_of
from ._allowance import Allowance
from ._arguments import require, require_flags
from ._polars_nodes import Groups, Join, groups_of, join_of
from ._polars_plan import Plan
from .engine import Engine as Devices
from .engine import default_engine
from .errors import InvalidInputError, UsageError
from .patches import Unsupported, fall_back

if TYPE_CHECKING:
    from polars import LazyFrame

if not hasattr(polars, "StreamingEngine"):
    raise ImportError(f"garuda.polars needs Polars 2.1, whose engines others can extend: {polars.__version__}")

#: Versions of Polars' plan format that are understood: (16, 0) is Polars 2.1's.
PLAN_VERSIONS = ((16, 0),)


class Decision(NamedTuple):
    """Who runs a join or a group-by of a plan, and why.

    Attributes:
        node: the join or group-by, or what was left to Polars as a whole.
        engine: "garuda" or "polars".
        reason: in words.
        seconds: of the node itself, by garuda.
    """

    node: str
    engine: str
    reason: str
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.node}: {self.engine}, {self.reason}"


class Engine(polars.StreamingEngine):
    """Polars' streaming engine, whose joins and group-bys run through garuda where that is faster.

    For `lf.collect(engine=…)`, or for all queries by `polars.Config.set_engine_affinity(…)`. What lies below a node
    that garuda may run is run first, by Polars; then the planner's price, on the rows that came, says who goes on. Rows
    and types are Polars' own, in unspecified order where `maintain_order` leaves it so; float sums and means are exact,
    rounded once, so their last bits may differ from Polars' own, which depend on threads.

    Args:
        engine: of garuda, with its devices and limits.
        prices: False: every node that garuda can run, whatever it costs.
        strict: every join and group-by runs through garuda, whatever it costs, or UsageError says why not.

    `decisions` has what the last query of this engine did, node by node; `explain` says it beforehand. Raises UsageError
    for versions of Polars whose plans were never tried. In the background, asynchronously, in `collect_all` and in
    batches Polars runs all by itself.
    """

    def __init__(self, engine: Devices = default_engine, *, prices: bool = True, strict: bool = False) -> None:
        super().__init__()
        require("engine", engine, Devices, "a garuda.Engine")
        require_flags(prices=prices, strict=strict)
        self.devices = engine
        self.prices = prices and not strict
        self.strict = strict
        self.decisions: list[Decision] = []
        self._allowance = Allowance(0.01)
        self._was_small = False

    def __repr__(self) -> str:
        return f"garuda.polars.Engine({self.devices!r}, prices={self.prices}, strict={self.strict})"

    def collect(self, lf: LazyFrame, *, optimizations: Any, background: bool = False, post_opt_callback: Any = None) -> Any:
        if background or optimizations._pyoptflags.eager or post_opt_callback is not None:
            if background:
                self._all_by_polars("collect in the background")
            return super().collect(
                lf, optimizations=optimizations, background=background, post_opt_callback=post_opt_callback
            )
        start = time.perf_counter()
        if self.prices and self._allowance.is_spent:
            self.decisions = [_NOT_LOOKED_AT]
        else:
            rows = self._collected(lf, optimizations._pyoptflags)
            if rows is not None:
                return rows
            looked = time.perf_counter()
            if not self._was_small:
                self._allowance.spend(looked - start)
            start = looked
        rows = super().collect(lf, optimizations=optimizations)
        self._allowance.earn(time.perf_counter() - start)
        return rows

    def explain(self, lf: LazyFrame, *, optimizations: Any = None) -> str:
        """A line for each join and group-by of the plan: who runs it, and why, or that prices decide on the rows that
        come. Runs nothing."""
        require("lf", lf, polars.LazyFrame, "a polars.LazyFrame")
        decisions = self.decisions
        self._collected(lf, (optimizations or polars.QueryOptFlags())._pyoptflags, runs=False)
        explained, self.decisions = self.decisions, decisions
        return "\n".join(map(str, explained)) or "neither joins nor group-bys"

    def _collected(self, lf: LazyFrame, flags: Any, *, runs: bool = True) -> Optional[polars.DataFrame]:
        """None when the run stopped without rows: while something looks at a plan, Polars runs it in an engine that is
        two to three times slower, so garuda's part and the rest are run from there, or nothing is."""
        optimized = lf._ldf.with_optimizations(flags)
        run = _Run(self, optimized, runs=runs)
        try:
            return polars.DataFrame._from_pydf(optimized.collect(self.name, run))
        except polars.exceptions.ComputeError as error:
            if run.failure is None:
                if "conversion failed: KeyboardInterrupt" in str(error):  # raised as `run` was entered, before its try
                    raise KeyboardInterrupt from None
                raise
        finally:
            self.decisions, self._was_small = run.decisions, run.is_small
        failure, run.failure = run.failure, None
        if isinstance(failure, _Stopped):
            failure.__traceback__ = None  # whose frames hold the run, and with it the plan's rows
            return None
        raise failure

    def _sink(self, call: str, lf: LazyFrame, target: Any, options: dict[str, Any]) -> None:
        """Polars writes: what garuda took part in when that is there, else the plan as it is."""
        rows = self._collected(lf, options["optimizations"]._pyoptflags)
        getattr(polars.StreamingEngine(), call)(lf if rows is None else rows.lazy(), target, **options)

    def sink_parquet(self, lf: LazyFrame, path: Any, **options: Any) -> None:
        self._sink("sink_parquet", lf, path, options)

    def sink_ipc(self, lf: LazyFrame, path: Any, **options: Any) -> None:
        self._sink("sink_ipc", lf, path, options)

    def sink_csv(self, lf: LazyFrame, path: Any, **options: Any) -> None:
        self._sink("sink_csv", lf, path, options)

    def sink_ndjson(self, lf: LazyFrame, path: Any, **options: Any) -> None:
        self._sink("sink_ndjson", lf, path, options)

    def sink_batches(self, lf: LazyFrame, function: Any, **options: Any) -> None:
        self._sink("sink_batches", lf, function, options)

    def collect_all(self, lfs: Iterable[LazyFrame], *, optimizations: Any) -> Any:
        self._all_by_polars("collect_all")
        return super().collect_all(lfs, optimizations=optimizations)

    def collect_async(self, lf: LazyFrame, *, optimizations: Any, gevent: bool = False) -> Any:
        self._all_by_polars("collect_async")
        return super().collect_async(lf, optimizations=optimizations, gevent=gevent)

    def collect_all_async(self, lfs: Iterable[LazyFrame], *, optimizations: Any, gevent: bool = False) -> Any:
        self._all_by_polars("collect_all_async")
        return super().collect_all_async(lfs, optimizations=optimizations, gevent=gevent)

    def collect_batches(self, lf: LazyFrame, *, optimizations: Any, **options: Any) -> Any:
        self._all_by_polars("collect_batches")
        return super().collect_batches(lf, optimizations=optimizations, **options)

    def _all_by_polars(self, call: str) -> None:
        self.decisions = [Decision(call, "polars", "Polars gives no plan for it")]
        fall_back(f"polars.{call}", "Polars gives no plan for it", self.strict)


_NOT_LOOKED_AT = Decision("plan", "polars", "not looked at, which has taken its share of the time")


class _Stopped(Exception):
    """Ends a query that was to be explained alone, or in which garuda has no part."""


class _Run:
    """Called by Polars with a plan that it has optimised and is about to run."""

    def __init__(self, engine: Engine, frame: Any, *, runs: bool = True) -> None:
        self.engine = engine
        self.runs = runs
        self._frame = frame
        self.decisions: list[Decision] = []
        self.failure: Optional[BaseException] = None
        self.is_small = False  # found by counting rows, before any node was looked at
        self._seen: set[int] = set()
        self._runnable: set[int] = set()  # explained: nodes that garuda may run

    def __call__(self, traverser: Any, *_: Any) -> None:
        try:
            _require_version(traverser.version())
            root = traverser.get_node()
            self.plan = Plan(traverser)
            self._root = root
            if self.runs and self.engine.prices and (few := self._too_few_in_all(root)) is not None:
                self._stays("plan", few)
                self.is_small = True
                raise _Stopped
            self._visit(root)
            if not self.runs or not (self.plan.ready or self.plan.cached):
                raise _Stopped
            self._finish(root)
            traverser.set_node(root)
        except BaseException as failure:
            self.failure = self._left(failure) if isinstance(failure, polars.exceptions.PanicException) else failure
            raise self.failure

    def _left(self, panic: BaseException) -> BaseException:
        """After a panic Polars shows no more of its plan, which is left to it as a whole."""
        reason = f"Polars panics as it shows its plan: {panic}"
        self.decisions = [Decision("plan", "polars", reason)]
        try:
            fall_back("polars plan", reason, self.engine.strict)
        except UsageError as error:
            return error
        return _Stopped()

    def _finish(self, root: int) -> None:
        """The rest of the plan is run here, too, unless Polars does not take it back."""
        if root in self.plan.ready:
            self.plan.replace(root, self.plan.ready[root])
        elif self._rest is None:
            self.plan.replace(root, self.plan.whole(root).collect(engine="streaming"))
        else:
            self._replace(root)

    @functools.cached_property
    def _rest(self) -> Optional[str]:
        """Why Polars would not take the whole plan back."""
        try:
            self.plan.whole(self._root)
        except Unsupported as reason:
            return str(reason)
        return None

    @functools.cached_property
    def _checks_joins(self) -> bool:
        """Whether Polars checks how often keys of a join occur. Its plan does not say so, but as it runs that, such a
        join is one of its in-memory engine."""
        return "in-memory-join" in self._frame.to_dot_streaming_phys(True)

    def _visit(self, node: int) -> None:
        """Lower nodes first."""
        if node in self._seen:
            return
        self._seen.add(node)
        for below in self.plan.inputs(node):
            self._visit(below)
        try:
            viewed = self.plan.view(node)
        except Unsupported:
            return
        kind = type(viewed).__name__
        if kind not in ("Join", "GroupBy"):
            return
        title = _title(self.plan, viewed, kind)
        try:
            inputs = [viewed.input] if kind == "GroupBy" else [viewed.input_left, viewed.input_right]
            reason = self._reason_to_leave(inputs) if self.engine.prices else None
            if reason is not None:
                return self._stays(title, reason)
            described = join_of(self.plan, node, viewed) if kind == "Join" else groups_of(self.plan, node, viewed)
            if self._checks_joins:
                raise Unsupported("the plan has a join by validate=, which is not shown and would be lost")
            self._decide(node, title, described)
        except (Unsupported, InvalidInputError) as error:
            self._stays(title, str(error))
            fall_back(f"polars {title}", str(error), self.engine.strict)

    def _decide(self, node: int, title: str, described: Union[Join, Groups]) -> None:
        if not self.runs:
            self._runnable.add(node)
            decided = "if its price on the rows that come is the lower one" if self.engine.prices else "whatever it costs"
            return self.decisions.append(Decision(title, "garuda", decided))
        rows = [self.plan.rows(below) for below in described.inputs]
        reason = "whatever it costs"
        if self.engine.prices:
            worth, reason = prices_of.compare(described, rows, self.engine.devices)
            if not worth:
                return self._stays(title, reason)
        start = time.perf_counter()
        made = described.run(self.engine.devices, rows)
        self.decisions.append(Decision(title, "garuda", reason, time.perf_counter() - start))
        for below in described.inputs:
            self.plan.ready.pop(below, None)
        self.plan.ready[node] = made

    def _stays(self, title: str, reason: str) -> None:
        self.decisions.append(Decision(title, "polars", reason))

    def _reason_to_leave(self, inputs: list[int]) -> Optional[str]:
        """Why to leave a node of such inputs before any row is there. Those that Polars makes and takes in one go would
        have to be kept first, which costs more than most nodes gain, and only then show whether they are enough."""
        few = prices_of.too_few([self._most_rows(below) for below in inputs])
        if few is not None:
            return few
        for node in inputs:
            while node not in self.plan.ready and node not in self._runnable:
                viewed = self.plan.view(node)
                kind = type(viewed).__name__
                if kind == "DataFrameScan":
                    break
                if kind not in ("SimpleProjection", "Select", "HStack"):
                    return f"Polars takes its rows in one go with the {kind} below, without keeping them"
                node = viewed.input
        return self._rest and f"the rest would run in Polars' slower engine: {self._rest}"

    def _too_few_in_all(self, root: int) -> Optional[str]:
        """Why to leave the whole plan, which no node of it has to be looked at for."""
        total, nodes = 0, [root]
        while nodes:
            node = nodes.pop()
            inputs = self.plan.inputs(node)
            nodes += inputs
            if not inputs:
                total += self._most_rows(node)
                if total >= prices_of.FEW:
                    return None
        return prices_of.too_few([total])

    def _most_rows(self, node: int) -> int:
        """A bound of a node's rows, as far as plans tell one."""
        if node in self.plan.ready:
            return self.plan.ready[node].height
        try:
            viewed = self.plan.view(node)
        except Unsupported:
            return prices_of.MANY
        kind = type(viewed).__name__
        if kind == "DataFrameScan":
            return int(viewed.df.height())
        if kind == "Join":
            return max(self._most_rows(viewed.input_left), self._most_rows(viewed.input_right))
        inputs = self.plan.inputs(node)
        return sum(map(self._most_rows, inputs)) if inputs else prices_of.MANY

    def _replace(self, node: int) -> None:
        """Lets Polars read what is there, from the top down."""
        if node in self.plan.ready:
            return self.plan.replace(node, self.plan.ready[node])
        viewed: Any = None
        try:
            viewed = self.plan.view(node)
        except Unsupported:
            pass
        if type(viewed).__name__ == "Cache" and viewed.id_ in self.plan.cached:
            return self.plan.replace(node, self.plan.cached[viewed.id_])
        for below in self.plan.inputs(node):
            self._replace(below)


def _title(plan: Plan, viewed: Any, kind: str) -> str:
    try:
        if kind == "GroupBy":
            return f"group-by {', '.join(e.output_name for e in viewed.keys)}"
        how = viewed.options[0] if isinstance(viewed.options[0], str) else viewed.options[0][0]
        return f"{how.lower()} join on {', '.join(plan.column(e) or e.output_name for e in viewed.left_on)}"
    except Unsupported:
        return kind.lower()


def _require_version(version: tuple[int, int]) -> None:
    if version not in PLAN_VERSIONS:
        known = ", ".join(f"{major}.{minor}" for major, minor in PLAN_VERSIONS)
        raise UsageError(
            f"plans of Polars {polars.__version__} have format {version[0]}.{version[1]}; garuda reads {known}, of Polars 2.1"
        )
