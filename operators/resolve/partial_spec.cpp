#include "operators/resolve/partial_spec.hpp"

#include <fmt/format.h>

#include <bit>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "core/type_rows.hpp"
#include "garuda/table.hpp"
#include "operators/resolve/exact_state.hpp"

namespace garuda::resolve {
namespace {

using F = AggregateFunction;

/// Whether sums of such values, at most `most_rows` of them, stay within their result's type, so that they merge as
/// what they are: 64 bits, or 38 digits, which 2^64 values of 18 digits do not fill.
bool sums_fit(DataType const& values, std::uint64_t most_rows) {
  constexpr std::int32_t kMostDigits = 18;
  auto const& row = type_row(values.id);
  if (row.family == TypeFamily::integer)
    return row.width < 8 && std::bit_width(most_rows) + 8 * row.width <= std::numeric_limits<std::uint64_t>::digits;
  return row.family == TypeFamily::decimal && row.width <= 16 && values.precision <= kMostDigits;
}

class Taker {
 public:
  Taker(Schema const& rows, GroupBySpec const& spec, std::vector<ResolvedAggregate> resolved)
      : rows_(rows), spec_(spec) {
    made_.resolved = std::move(resolved);
    for (auto const& field : rows) names_.insert(field.name);
    for (auto const& aggregate : made_.resolved) names_.insert(aggregate.name);
    made_.number = free_name("group number");
    made_.block.keys = made_.merged.keys = spec.keys;
    made_.block.ordered = made_.merged.ordered = spec.ordered;
  }

  PartialSpec take(std::uint64_t most_rows) && {
    for (std::size_t a = 0; a < spec_.aggregates.size(); ++a) take(a, most_rows);
    // Without keys there is a group also where no aggregate has a state.
    if (spec_.keys.empty() && made_.states.empty())
      add(free_name("count"), {F::count, std::nullopt, std::nullopt}, sum(), {false, 0, false});
    if (!made_.exact_columns().empty()) {
      Aggregate numbers{F::min_n, made_.number, made_.number};
      numbers.most = std::numeric_limits<std::int32_t>::max();
      made_.merged.aggregates.push_back(std::move(numbers));
    }
    return std::move(made_);
  }

 private:
  static Aggregate sum() { return {F::sum, std::nullopt, std::nullopt}; }

  /// A name that no other column has.
  std::string free_name(std::string name) {
    while (!names_.insert(name).second) name += '_';
    return name;
  }

  void add(std::string const& name, Aggregate partial, std::optional<Aggregate> merged, PartialSpec::State state) {
    partial.name = name;
    made_.block.aggregates.push_back(std::move(partial));
    if (merged) {
      merged->name = name;
      if (!merged->column) merged->column = name;
      made_.merged.aggregates.push_back(*std::move(merged));
    }
    made_.states.push_back(state);
  }

  /// Divides an aggregate into that of a block and that of the groups of blocks.
  void take(std::size_t a, std::uint64_t most_rows) {
    auto const& wanted = spec_.aggregates[a];
    auto const& resolved = made_.resolved[a];
    PartialSpec::State const result{false, a, true};
    switch (wanted.function) {
      case F::count:
        return add(resolved.name, wanted, sum(), result);
      case F::sum:
        if (!sums_fit(resolved.input, most_rows)) break;
        return add(resolved.name, wanted, sum(), result);
      case F::min:
      case F::max:
      case F::first:
      case F::last:
      case F::any:
      case F::bool_and:
      case F::bool_or:
        return add(resolved.name, wanted, Aggregate{wanted.function, std::nullopt, std::nullopt}, result);
      case F::arg_min:
      case F::arg_max:
        return take_row_of_extreme(a);
      default:
        break;
    }
    if (!has_exact_state(*resolved.row)) {
      made_.unmergeable.push_back(a);
      return;
    }
    auto partial = wanted;
    partial.as_state = true;
    add(resolved.name, std::move(partial), std::nullopt, {true, a, true});
  }

  /// The value that decides goes along: that of rows where neither is null.
  void take_row_of_extreme(std::size_t a) {
    auto const& wanted = spec_.aggregates[a];
    auto const& name = made_.resolved[a].name;
    auto const decides = mask(*made_.resolved[a].second, *made_.resolved[a].column);
    auto const extreme = wanted.function == F::arg_min ? F::min : F::max;
    auto partial = wanted;
    partial.second = decides;
    Aggregate merged{wanted.function, std::nullopt, std::nullopt};
    merged.second = free_name(name + " at");
    auto const extreme_name = *merged.second;
    add(name, std::move(partial), std::move(merged), {false, a, true});
    add(extreme_name, {extreme, decides, std::nullopt}, Aggregate{extreme, std::nullopt, std::nullopt},
        {false, a, false});
  }

  /// Name of a copy of a column with a null wherever the one at `by` has one.
  std::string mask(std::size_t position, std::size_t by) {
    auto name = free_name(fmt::format("{} where {} is", rows_[position].name, rows_[by].name));
    made_.masked.push_back({position, by, name});
    return name;
  }

  Schema const& rows_;
  GroupBySpec const& spec_;
  PartialSpec made_;
  std::set<std::string> names_;  ///< of columns, so far
};

}  // namespace

std::vector<std::size_t> PartialSpec::exact_columns() const {
  std::vector<std::size_t> positions;
  for (std::size_t s = 0; s < states.size(); ++s)
    if (states[s].is_exact) positions.push_back(block.keys.size() + s);
  return positions;
}

Result<PartialSpec> take_apart(Schema const& rows, GroupBySpec const& spec, std::uint64_t most_rows) {
  Table const none(rows, {});
  GARUDA_TRY_ASSIGN(auto resolved, resolve_group_by(none.view(), spec));
  return Taker(rows, spec, std::move(resolved.aggregates)).take(most_rows);
}

}  // namespace garuda::resolve
