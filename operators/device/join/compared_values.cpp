#include "operators/device/join/compared_values.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "core/type_rows.hpp"
#include "operators/compute/primitives/key_conversion.hpp"
#include "operators/device/device_group_columns.hpp"
#include "operators/device/strings/stored_strings.hpp"
#include "operators/materialize/column_words.hpp"
#include "shaders/compute/conditions/filter_pairs_layout.h"

namespace garuda::device {
namespace {

using Form = ComparedAs::Form;

void put_number(keys::Words256 const& number, shaders::NumberOperand& operand) {
  static_assert(sizeof(operand.factor) == sizeof(number));
  std::memcpy(operand.factor, number.data(), sizeof(number));
}

shaders::NumberOperand number_operand(compute::DeviceColumn const& values, bool is_signed,
                                      std::vector<std::uint64_t> const& factors) {
  keys::Words256 factor{1};
  for (auto const one : factors) keys::multiply(factor, one);
  shaders::NumberOperand operand{};
  operand.values = values.address;
  operand.num_words = values.words;
  operand.is_signed = is_signed ? 1 : 0;
  operand.is_scaled = factor == keys::Words256{1} ? 0 : 1;
  put_number(factor, operand);
  return operand;
}

/// Writes words to a buffer of upload_buffer().
Result<vk::Buffer> upload_words(compute::ComputeContext& context, std::span<std::uint32_t const> words,
                                char const* name) {
  GARUDA_TRY_ASSIGN(auto buffer, context.upload_buffer(std::max(words.size_bytes(), sizeof(std::uint32_t)), name));
  GARUDA_TRY(context.make(buffer, [&](auto target) { std::ranges::copy(words, target.begin()); }));
  return buffer;
}

}  // namespace

template <class Operand>
std::uint64_t ComparedValues::add_operand(Operand const& operand) {
  static_assert(sizeof(Operand) % sizeof(std::uint64_t) == 0);
  auto const at = operand_words_.size();
  operand_words_.resize(at + sizeof(Operand) / sizeof(std::uint32_t));
  std::memcpy(operand_words_.data() + at, &operand, sizeof(Operand));
  return at * sizeof(std::uint32_t);
}

Result<ComparedValues> ComparedValues::create(compute::ComputeContext& context, resolve::JoinRequest const& request,
                                              ComparedColumns const& compared) {
  ComparedValues values;
  GARUDA_TRY(values.place_columns(context, request, compared));
  GARUDA_TRY(values.place_constants(context, *request.columns.condition, compared));
  GARUDA_TRY_ASSIGN(values.operands_, upload_words(context, values.operand_words_, "operands"));
  return values;
}

Result<void> ComparedValues::place_columns(compute::ComputeContext& context, resolve::JoinRequest const& request,
                                           ComparedColumns const& compared) {
  JoinedTables const tables(request);
  for (auto const side : kSides) {
    auto const& columns = request.columns.condition->columns(side);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      auto const& reading = compared.columns[side_index(side)][i];
      auto const column = columns[i].column;
      auto const& type = tables.field(side, column).type;
      auto const form = compared.encodings[columns[i].encoding].form;
      auto words = tables.words(side, column);
      std::uint64_t operand = 0;
      if (form == Form::numbers) {
        operand = add_operand(number_operand(words, type_row(type.id).is_signed, reading.factors));
      } else if (form == Form::texts) {
        shaders::TextOperand text{};
        text.values = words.address;
        if (auto const& strings = tables.column(side, column).strings) {
          GARUDA_TRY_ASSIGN(auto view, view_of(context, *strings, *strings));
          text.strings = view.view();
          strings_.push_back(std::move(view));
        } else {
          text.num_words = words.words;
          text.num_bytes = static_cast<std::uint32_t>(byte_width(type));
        }
        operand = add_operand(text);
      } else if (auto const rows = tables.of(side).rows; reading.conversion && rows > 0) {
        auto const made_words = reading.conversion->words();
        GARUDA_TRY_ASSIGN(auto made,
                          context.device_buffer(rows * made_words * materialize::kWordBytes, "compared values"));
        GARUDA_TRY(compute::record_key_conversion(context, {words, *device_key_kind(type)}, rows, *reading.conversion,
                                                  made.address()));
        words = {made.address(), made_words};
        buffers_.push_back(std::move(made));
      }
      columns_[side_index(side)].push_back(words);
      column_operands_[side_index(side)].push_back(operand);
    }
  }
  return {};
}

Result<void> ComparedValues::place_constants(compute::ComputeContext& context, expr::ResolvedCondition const& condition,
                                             ComparedColumns const& compared) {
  GARUDA_TRY_ASSIGN(auto const* const texts, upload_texts(context, condition, compared));
  std::uint32_t number = 0;
  for (std::size_t c = 0; c < condition.constants.size(); ++c) {
    auto const& constant = condition.constants[c];
    auto const form = compared.encodings[constant.encoding].form;
    std::uint64_t operand = 0;
    if (form == Form::numbers) {
      shaders::NumberOperand value{};
      put_number(constant_number(constant, compared.constants[c], condition.encodings[constant.encoding].as), value);
      operand = add_operand(value);
    } else if (form == Form::texts) {
      shaders::TextOperand text{};
      text.strings = texts->view();
      text.number = number++;
      operand = add_operand(text);
    }
    constants_.push_back(form == Form::words ? constant_word(constant, compared.constants[c]) : 0);
    constant_operands_.push_back(operand);
  }
  return {};
}

/// All constants that are texts, in their order; nullptr: there are none.
Result<compute::DeviceStrings const*> ComparedValues::upload_texts(compute::ComputeContext& context,
                                                                   expr::ResolvedCondition const& condition,
                                                                   ComparedColumns const& compared) {
  std::vector<std::uint32_t> offsets{0};
  std::vector<std::byte> bytes;
  for (auto const& constant : condition.constants) {
    if (compared.encodings[constant.encoding].form != Form::texts) continue;
    bytes.insert(bytes.end(), constant.bytes.begin(), constant.bytes.end());
    offsets.push_back(static_cast<std::uint32_t>(bytes.size()));
  }
  auto const count = offsets.size() - 1;
  if (count == 0) return nullptr;
  // Passes read whole words, and one more.
  auto words = offsets;
  words.resize(offsets.size() + bytes.size() / sizeof(std::uint32_t) + 2);
  if (!bytes.empty()) std::memcpy(words.data() + offsets.size(), bytes.data(), bytes.size());
  GARUDA_TRY_ASSIGN(auto uploaded, upload_words(context, words, "constants"));
  compute::StringPiece const piece{uploaded.address(), uploaded.address() + offsets.size() * sizeof(std::uint32_t), 0,
                                   count, 0};
  GARUDA_TRY_ASSIGN(auto strings, compute::DeviceStrings::create(context, std::span(&piece, 1)));
  buffers_.push_back(std::move(uploaded));
  strings_.push_back(std::move(strings));
  return &strings_.back();
}

}  // namespace garuda::device
