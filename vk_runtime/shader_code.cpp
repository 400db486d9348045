#include "vk_runtime/shader_code.hpp"

#include <algorithm>
#include <map>

#include "vk_runtime/spirv.hpp"

namespace garuda::vk {
namespace {

using namespace spirv;

/// The operands that may be values, without what an instruction has of literals, which could be taken for ids.
Words values_of(std::uint32_t op, Words operands) {
  switch (op) {
    case op_ext_inst:
      return operands.subspan(4);
    case op_store:
      return operands.first(2);
    case op_vector_shuffle:
    case op_composite_insert:
      return operands.first(4);
    case op_switch:
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
  bool strides(std::uint32_t op, Words operands) {
    if (op == op_decorate) decorate(operands);
    if (op == op_constant) constants_[operands[1]] = operands[2];
    in_function_ = in_function_ || op == op_function;
    if (!in_function_) return false;
    bool const is_count = std::ranges::any_of(values_of(op, operands), [&](auto id) { return value_of(id).is_count; });
    switch (op) {
      case op_load:
        if (value_of(operands[2]).known) values_[operands[1]] = value_of(operands[2]);
        return false;
      case op_access_chain:
      case op_in_bounds_access_chain:
        return take_component(operands, [&](std::uint32_t id) {
          auto const index = constants_.find(id);
          return index == constants_.end() ? kWhole : index->second;
        });
      case op_composite_extract:
        return take_component(operands, [](std::uint32_t index) { return index; });
      case op_i_mul: {
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

  void decorate(Words operands) {
    if (operands.size() < 3 || operands[1] != kDecorationBuiltIn) return;
    if (operands[2] == kBuiltInNumWorkgroups || operands[2] == kBuiltInWorkgroupId)
      values_[operands[0]] = {true, operands[2] == kBuiltInNumWorkgroups, kWhole};
  }

  /// Takes a component; `operands`: type, result, vector, index. Returns whether it is one of gl_NumWorkGroups with
  /// which a shader may stride: any but the first.
  template <class IndexOf>
  bool take_component(Words operands, IndexOf const& index_of) {
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
  return spirv::for_instructions(code.words, [&](std::uint32_t op, spirv::Words operands) {
           return !use.strides(op, operands);
         }) != code.words.size();
}

}  // namespace garuda::vk
