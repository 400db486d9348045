#include "operators/query/strict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <variant>

#include "operators/plan/path_choice.hpp"
#include "operators/query/run/device_query.hpp"

namespace garuda::query {
namespace {

/// The work of an operator that runs on the host, in words; nullopt: it computes nothing there.
std::optional<std::string> work_on_host(Bound const& query, QueryOptions const& options, DeviceQuery const* device) {
  if (device != nullptr && device->computes(query)) return std::nullopt;
  if (auto const* const join = std::get_if<BoundJoin>(&query.operation);
      join != nullptr && joins_on_host(*join, options))
    return "join without keys";
  if (auto const* const join = std::get_if<BoundJoin>(&query.operation); join != nullptr && join->pairs)
    return fmt::format("join where {}", to_string(*join->pairs));
  if (auto const* const filter = std::get_if<BoundFilter>(&query.operation))
    return fmt::format("filter {}", to_string(filter->predicate));
  if (std::holds_alternative<BoundSort>(query.operation)) return "sort";
  if (std::holds_alternative<BoundNumber>(query.operation)) return "numbers of rows";
  auto const* const project = std::get_if<BoundProject>(&query.operation);
  if (project == nullptr) return std::nullopt;
  auto const computed = std::ranges::find_if(
      project->columns, [](ProjectedColumn const& column) { return std::holds_alternative<expr::Expression>(column); });
  if (computed == project->columns.end()) return std::nullopt;
  return fmt::format("projection {}", to_string(std::get<expr::Expression>(*computed)));
}

}  // namespace

bool joins_on_host(BoundJoin const& join, QueryOptions const& options) noexcept {
  auto const* const asked = options.picks_path() ? nullptr : plan::find_path(options.path);
  return join.keys.empty() && asked != nullptr && asked->condition_join.offers == nullptr;
}

Result<void> check_strict(Bound const& query, QueryOptions const& options, DeviceQuery const* device) {
  if (!options.strict || options.picks_path()) return {};
  auto const* const row = plan::find_path(options.path);
  if (row == nullptr || !row->api) return {};  // not part of the library, or the host's
  if (auto const work = work_on_host(query, options, device))
    return fail(ErrorCode::no_device, fmt::format("the query is strict, and an operator of it does not run on path {}: "
                                                  "{}",
                                                  to_string(options.path), *work));
  for (auto const& input : query.inputs) GARUDA_TRY(check_strict(input, options, device));
  return {};
}

}  // namespace garuda::query
