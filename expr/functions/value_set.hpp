// Constants that a value is looked for among.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "expr/program.hpp"

namespace garuda::expr {

/// The constants of `in`, in their order, so that few of them are compared one by one and many by halves.
class ValueSet {
 public:
  /// Requires: constants of the kind.
  ValueSet(Kind kind, std::span<ProgramConstant const> constants);
  ValueSet(ValueSet const&) = delete;
  ValueSet& operator=(ValueSet const&) = delete;

  bool has_null() const noexcept { return has_null_; }
  /// Values as compare orders them.
  template <class Value>
  std::vector<Value> const& values() const {
    return std::get<std::vector<Value>>(values_);
  }

 private:
  bool has_null_ = false;
  std::vector<std::string> strings_;  // that the views refer to
  std::variant<std::vector<std::uint8_t>, std::vector<std::int32_t>, std::vector<std::int64_t>,
               std::vector<std::uint32_t>, std::vector<std::uint64_t>, std::vector<float>, std::vector<double>,
               std::vector<Int128>, std::vector<std::string_view>>
      values_;
};

/// Whether a comes before b: NaNs are equal and the last.
template <class Value>
bool comes_before(Value const& a, Value const& b) noexcept {
  if constexpr (std::is_floating_point_v<Value>)
    return (a < b) | ((a == a) & (b != b));
  else
    return a < b;
}

}  // namespace garuda::expr
