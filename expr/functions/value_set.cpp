#include "expr/functions/value_set.hpp"

#include <algorithm>
#include <cstring>

namespace garuda::expr {

ValueSet::ValueSet(Kind kind, std::span<ProgramConstant const> constants) {
  strings_.reserve(constants.size());
  with_kind(kind, [&]<class Value>(Value) {
    std::vector<Value> values;
    for (auto const& constant : constants) {
      has_null_ = has_null_ || constant.is_null;
      if (constant.is_null) continue;
      if constexpr (std::is_same_v<Value, std::string_view>)
        values.push_back(strings_.emplace_back(constant.bytes));
      else
        std::memcpy(&values.emplace_back(), constant.words.data(), sizeof(Value));
    }
    std::ranges::sort(values, comes_before<Value>);
    values_ = std::move(values);
  });
}

}  // namespace garuda::expr
