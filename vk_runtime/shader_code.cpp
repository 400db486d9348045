#include "vk_runtime/shader_code.hpp"

#include <algorithm>
#include <map>
#include <optional>

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

namespace {

using namespace spirv;

/// Nothing for operations that are not known, and those without a value. Booleans are 0 and 1.
std::optional<std::uint32_t> value_of(std::uint32_t op, Words v) {
  auto const a = v[0];
  if (v.size() == 1) {
    if (op == op_logical_not) return 1U - a;
    if (op == op_not) return ~a;
    return std::nullopt;
  }
  auto const b = v[1];
  if (v.size() == 3) return op == op_select ? std::optional(a != 0 ? b : v[2]) : std::nullopt;
  switch (op) {
    case op_i_add:
      return a + b;
    case op_i_sub:
      return a - b;
    case op_i_mul:
      return a * b;
    case op_u_div:
      return b == 0 ? std::nullopt : std::optional(a / b);
    case op_u_mod:
      return b == 0 ? std::nullopt : std::optional(a % b);
    case op_logical_equal:
    case op_i_equal:
      return a == b;
    case op_logical_not_equal:
    case op_i_not_equal:
      return a != b;
    case op_logical_or:
    case op_bitwise_or:
      return a | b;
    case op_logical_and:
    case op_bitwise_and:
      return a & b;
    case op_bitwise_xor:
      return a ^ b;
    case op_u_greater_than:
      return a > b;
    case op_u_greater_than_equal:
      return a >= b;
    case op_u_less_than:
      return a < b;
    case op_u_less_than_equal:
      return a <= b;
    case op_shift_right_logical:
      return b > 31 ? std::nullopt : std::optional(a >> b);
    case op_shift_left_logical:
      return b > 31 ? std::nullopt : std::optional(a << b);
    default:
      return std::nullopt;
  }
}

class Specializer {
 public:
  Specializer(Words code, std::span<SpecConstant const> constants) : constants_(constants) {
    words_.reserve(code.size());
    append(code.first(std::min(kHeaderWords, code.size())));
  }

  /// Appends what becomes of an instruction; `operands` are all its words but the first.
  void take(std::uint32_t op, Words operands) {
    switch (op) {
      case op_type_bool:
        types_[operands[0]] = Type::boolean;
        break;
      case op_type_int:
        if (operands[1] == 32) types_[operands[0]] = Type::integer;
        break;
      case op_decorate:
        if (operands.size() == 3 && operands[1] == kDecorationSpecId) {
          spec_ids_[operands[0]] = operands[2];
          return;
        }
        break;
      case op_constant_true:
      case op_spec_constant_true:
        return append(operands, op == op_spec_constant_true ? given(operands[1], 1) : 1);
      case op_constant_false:
      case op_spec_constant_false:
        return append(operands, op == op_spec_constant_false ? given(operands[1], 0) : 0);
      case op_constant:
      case op_spec_constant:
        if (operands.size() != 3) break;
        return append(operands, op == op_spec_constant ? given(operands[1], operands[2]) : operands[2]);
      case op_spec_constant_composite:
        if (std::ranges::all_of(operands.subspan(2), [&](auto id) { return values_.contains(id); }))
          return append(op_constant_composite, operands);
        break;
      case op_spec_constant_op:
        if (auto const value = computed(operands)) return append(operands, *value);
        break;
      case op_loop_merge:
        append(op, operands);
        // Merge block, continue target, control; more operands belong to other hints.
        if (operands.size() == 3) words_.back() &= ~kLoopControlUnroll;
        return;
      default:
        break;
    }
    append(op, operands);
  }

  /// `rest`: what could not be read.
  std::vector<std::uint32_t> finish(Words rest) && {
    append(rest);
    return std::move(words_);
  }

 private:
  enum class Type : std::uint8_t { other, boolean, integer };

  Type type_of(std::uint32_t id) const {
    auto const found = types_.find(id);
    return found == types_.end() ? Type::other : found->second;
  }

  /// The value that was given for a specialization constant.
  std::uint32_t given(std::uint32_t id, std::uint32_t usual) const {
    auto const spec_id = spec_ids_.find(id);
    if (spec_id == spec_ids_.end()) return usual;
    auto const found = std::ranges::find(constants_, spec_id->second, &SpecConstant::id);
    return found == constants_.end() ? usual : found->value;
  }

  std::optional<std::uint32_t> computed(Words operands) const {
    if (type_of(operands[0]) == Type::other || operands.size() < 4 || operands.size() > 6) return std::nullopt;
    std::vector<std::uint32_t> values;
    for (auto const id : operands.subspan(3)) {
      auto const found = values_.find(id);
      if (found == values_.end()) return std::nullopt;
      values.push_back(found->second);
    }
    return value_of(operands[2], values);
  }

  void append(Words words) { words_.insert(words_.end(), words.begin(), words.end()); }

  void append(std::uint32_t op, Words operands) {
    words_.push_back(static_cast<std::uint32_t>(operands.size() + 1) << 16U | op);
    append(operands);
  }

  /// A constant of the operands' type and result.
  void append(Words operands, std::uint32_t value) {
    auto const type = type_of(operands[0]);
    if (type != Type::other) values_[operands[1]] = value;
    if (type == Type::boolean) return append(value != 0 ? op_constant_true : op_constant_false, operands.first(2));
    std::uint32_t const constant[] = {operands[0], operands[1], value};
    append(op_constant, constant);
  }

  std::span<SpecConstant const> constants_;
  std::vector<std::uint32_t> words_;
  std::map<std::uint32_t, Type> types_;
  std::map<std::uint32_t, std::uint32_t> spec_ids_;
  std::map<std::uint32_t, std::uint32_t> values_;
};

}  // namespace

std::vector<std::uint32_t> specialized_code(ShaderCode const& code, std::span<SpecConstant const> constants) {
  Specializer specializer(code.words, constants);
  auto const read = spirv::for_instructions(code.words, [&](std::uint32_t op, spirv::Words operands) {
    specializer.take(op, operands);
    return true;
  });
  return std::move(specializer).finish(code.words.subspan(read));
}

}  // namespace garuda::vk
