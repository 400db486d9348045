#include "operators/join/join_places.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "garuda/condition.hpp"
#include "operators/device/device_join.hpp"
#include "operators/device/device_table.hpp"
#include "operators/device/join/composed_keys.hpp"
#include "operators/device/join/device_condition.hpp"

namespace garuda::join {
namespace {

/// Whether a device joins tables by such keys; `stored`: that live there.
Result<void> check_keys_there(resolve::JoinRequest const& request, bool stored) {
  if (request.columns.keys.empty())
    return fail(ErrorCode::usage, "tables whole on a device have joins on keys, not by a condition alone");
  if (stored) return device::check_joined_keys(request);
  return device::check_whole_keys(request.left.schema(), request.right.schema(), request.columns);
}

/// Whether a device joins such tables; `stored`: that live there. Errors: usage or invalid_input, with what it joins.
Result<void> check_joined_there(resolve::JoinRequest const& request, bool stored) {
  if (auto const& condition = request.columns.condition) {
    auto const compared =
        stored ? device::check_stored_condition(request)
               : device::check_device_condition(request.left.schema(), request.right.schema(), *condition);
    if (!compared) return compared;
  }
  return check_keys_there(request, stored);
}

}  // namespace

Result<std::optional<device::HostCopies>> bring_down(resolve::JoinRequest& request) {
  auto const left = device::device_of(request.left);
  auto const right = device::device_of(request.right);
  auto const name = [](auto const& device) { return device ? fmt::format("device {}", *device) : std::string("host"); };
  if (left != right)
    return fail(ErrorCode::usage, fmt::format("the tables are in different places: {}, {}", name(left), name(right)));
  bool const is_forced = request.options.tuning.placement == Placement::device;
  if (!left && !is_forced) return std::nullopt;
  auto const joined_there = check_joined_there(request, left.has_value());
  if (joined_there) return std::nullopt;
  if (is_forced)
    return fail(joined_there.error().code(), fmt::format("placement=device: {}", joined_there.error().message()));
  device::HostCopies copies;
  for (auto const side : {Side::left, Side::right}) {
    auto& table = side == Side::left ? request.left : request.right;
    GARUDA_TRY_ASSIGN(auto columns, resolve::columns_read(request, side));
    GARUDA_TRY_ASSIGN(table, copies.add(table, std::move(columns), request.options.control));
  }
  GARUDA_TRY_ASSIGN(request.columns,
                    resolve::resolve_join(request.left.schema(), request.right.schema(), request.spec));
  request.notes.push_back(copies.note(joined_there.error().message()));
  return copies;
}

}  // namespace garuda::join
