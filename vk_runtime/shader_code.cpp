#include "vk_runtime/shader_code.hpp"

#include <algorithm>
#include <cstddef>
#include <map>

namespace garuda::vk {
namespace {

// Of the SPIR-V specification, 1.6.
constexpr std::size_t kHeaderWords = 5;
constexpr std::uint32_t kOpExtInst = 12;
constexpr std::uint32_t kOpConstant = 43;
constexpr std::uint32_t kOpFunction = 54;
constexpr std::uint32_t kOpLoad = 61;
constexpr std::uint32_t kOpStore = 62;
constexpr std::uint32_t kOpAccessChain = 65;
constexpr std::uint32_t kOpInBoundsAccessChain = 66;
constexpr std::uint32_t kOpDecorate = 71;
constexpr std::uint32_t kOpVectorShuffle = 79;
constexpr std::uint32_t kOpCompositeExtract = 81;
constexpr std::uint32_t kOpCompositeInsert = 82;
constexpr std::uint32_t kOpIMul = 132;
constexpr std::uint32_t kOpSwitch = 251;
constexpr std::uint32_t kBuiltIn = 11;
constexpr std::uint32_t kNumWorkgroups = 24;
constexpr std::uint32_t kWorkgroupId = 26;

/// The operands that may be values, without what an instruction has of literals, which could be taken for ids.
std::span<std::uint32_t const> values_of(std::uint32_t op, std::span<std::uint32_t const> operands) {
  switch (op) {
    case kOpExtInst:
      return operands.subspan(4);
    case kOpStore:
      return operands.first(2);
    case kOpVectorShuffle:
    case kOpCompositeInsert:
      return operands.first(4);
    case kOpSwitch:
      return operands.first(1);
    default:
      return operands;
  }
}

/// Follows the two built-in vectors, pointers to them and their components through a module in the order of its code;
/// no id is used before it is defined but by loops, to which neither is carried.
class GroupUse {
 public:
  /// Takes one instruction; whether it uses the number of workgroups for more than a workgroup's number.
  bool strides(std::uint32_t op, std::span<std::uint32_t const> operands) {
    if (op == kOpDecorate) decorate(operands);
    if (op == kOpConstant) constants_[operands[1]] = operands[2];
    in_function_ = in_function_ || op == kOpFunction;
    if (!in_function_) return false;
    bool const is_count = std::ranges::any_of(values_of(op, operands), [&](auto id) { return value_of(id).is_count; });
    switch (op) {
      case kOpLoad:
        if (value_of(operands[2]).known) values_[operands[1]] = value_of(operands[2]);
        return false;
      case kOpAccessChain:
      case kOpInBoundsAccessChain:
        return take_component(operands, [&](std::uint32_t id) {
          auto const index = constants_.find(id);
          return index == constants_.end() ? kWhole : index->second;
        });
      case kOpCompositeExtract:
        return take_component(operands, [](std::uint32_t index) { return index; });
      case kOpIMul: {
        auto const first = value_of(operands[2]);
        auto const second = value_of(operands[3]);
        bool const is_row =
            (first.is_count != second.is_count) && (is_row_of_groups(first) || is_row_of_groups(second));
        return is_count && !is_row;
      }
      default:
        return is_count;
    }
  }

 private:
  static constexpr std::uint32_t kWhole = ~0U;
  struct Value {
    bool known = false;
    bool is_count = false;  // gl_NumWorkGroups, else gl_WorkGroupID
    std::uint32_t component = kWhole;
  };

  static bool is_row_of_groups(Value const& value) { return value.known && !value.is_count && value.component == 1; }

  Value value_of(std::uint32_t id) const {
    auto const found = values_.find(id);
    return found == values_.end() ? Value{} : found->second;
  }

  void decorate(std::span<std::uint32_t const> operands) {
    if (operands.size() < 3 || operands[1] != kBuiltIn) return;
    if (operands[2] == kNumWorkgroups || operands[2] == kWorkgroupId)
      values_[operands[0]] = {true, operands[2] == kNumWorkgroups, kWhole};
  }

  /// Of the vector's operands type, result, vector, index; of the number of workgroups only the first is harmless.
  template <class IndexOf>
  bool take_component(std::span<std::uint32_t const> operands, IndexOf const& index_of) {
    auto value = value_of(operands[2]);
    if (!value.known) return false;
    if (operands.size() != 4) return value.is_count;
    value.component = index_of(operands[3]);
    values_[operands[1]] = value;
    return value.is_count && value.component != 0;
  }

  bool in_function_ = false;
  std::map<std::uint32_t, Value> values_;
  std::map<std::uint32_t, std::uint32_t> constants_;
};

}  // namespace

bool strides_over_groups(ShaderCode const& code) {
  GroupUse use;
  for (std::size_t at = kHeaderWords; at < code.words.size();) {
    auto const length = code.words[at] >> 16U;
    if (length == 0 || length > code.words.size() - at) return true;
    if (use.strides(code.words[at] & 0xffffU, code.words.subspan(at + 1, length - 1))) return true;
    at += length;
  }
  return false;
}

}  // namespace garuda::vk
