#include "operators/contract/join_kind.hpp"

#include <fmt/format.h>

#include <array>
#include <string>

namespace garuda {
namespace {

using contract::Alone;

struct KindRow {
  std::string_view name;
  contract::JoinParts parts;
};

/// In the order of JoinKind.
constexpr std::array kKinds{KindRow{"inner", {true, Alone::none, Alone::none}},
                            KindRow{"left", {true, Alone::unmatched, Alone::none}},
                            KindRow{"right", {true, Alone::none, Alone::unmatched}},
                            KindRow{"full", {true, Alone::unmatched, Alone::unmatched}},
                            KindRow{"semi", {false, Alone::matched, Alone::none}},
                            KindRow{"anti", {false, Alone::unmatched, Alone::none}},
                            KindRow{"mark", {false, Alone::all, Alone::none}}};

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
