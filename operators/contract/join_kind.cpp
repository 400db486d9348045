#include "operators/contract/join_kind.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace garuda {
namespace {

using contract::SideRows;

struct KindRow {
  std::string_view name;
  contract::JoinParts parts;
};

/// The kinds, in the order of JoinKind.
constexpr std::array kKinds{KindRow{"inner", {true, SideRows::none, SideRows::none}},
                            KindRow{"left", {true, SideRows::unmatched, SideRows::none}},
                            KindRow{"right", {true, SideRows::none, SideRows::unmatched}},
                            KindRow{"full", {true, SideRows::unmatched, SideRows::unmatched}},
                            KindRow{"semi", {false, SideRows::matched, SideRows::none}},
                            KindRow{"anti", {false, SideRows::unmatched, SideRows::none}},
                            KindRow{"mark", {false, SideRows::all, SideRows::none}}};

KindRow const& row_of(JoinKind kind) noexcept { return kKinds[static_cast<std::size_t>(kind)]; }

}  // namespace

std::string_view to_string(JoinKind kind) noexcept { return row_of(kind).name; }

Result<JoinKind> parse_join_kind(std::string_view text) {
  std::string names;
  for (std::size_t k = 0; k < kKinds.size(); ++k) {
    if (kKinds[k].name == text) return static_cast<JoinKind>(k);
    names += fmt::format("{}{}", k == 0 ? "" : k + 1 == kKinds.size() ? " or " : ", ", kKinds[k].name);
  }
  return fail(ErrorCode::usage, fmt::format("a join is {}: {}", names, text));
}

contract::JoinParts contract::parts_of(JoinKind kind) noexcept { return row_of(kind).parts; }

}  // namespace garuda
