#include "expr/condition_words.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "core/type_rows.hpp"
#include "keys/order/order_words.hpp"

namespace garuda::expr {
namespace {

/// A table of one row: a constant as a column.
class ConstantTable {
 public:
  explicit ConstantTable(ConditionConstant const& constant) : bytes_(constant.bytes) {
    auto type = constant.type;
    ArrayView array;
    array.length = 1;
    array.null_count = 0;
    // A buffer that is empty has no address.
    bytes_.push_back(std::byte{0});
    array.values = bytes_.data();
    if (type_row(type.id).family == TypeFamily::bytes) {
      bool const is_text = type.id == TypeId::utf8 || type.id == TypeId::large_utf8 || type.id == TypeId::utf8_view;
      type = DataType{is_text ? TypeId::large_utf8 : TypeId::large_binary};
      offsets_ = {0, static_cast<std::int64_t>(constant.bytes.size())};
      array.offsets = offsets_.data();
    }
    std::vector<Batch> batches;
    batches.push_back({1, {array}, nullptr});
    table_ = Table({{"constant", std::move(type), false}}, std::move(batches));
  }
  ConstantTable(ConstantTable const&) = delete;
  ConstantTable& operator=(ConstantTable const&) = delete;

  TableView view() const noexcept { return table_.view(); }

 private:
  std::vector<std::byte> bytes_;
  std::array<std::int64_t, 2> offsets_{};
  Table table_;
};

class Encoder {
 public:
  Encoder(ResolvedCondition const& condition, TableView left, TableView right, Control const& control)
      : resolved_(condition), left_(left), right_(right), control_(control), constants_(condition.constants.size()) {}

  Result<EncodedCondition> run() {
    auto& condition = encoded_.condition;
    condition.left.resize(resolved_.left.size());
    condition.right.resize(resolved_.right.size());
    for (std::size_t e = 0; e < resolved_.encodings.size(); ++e) GARUDA_TRY(encode(e));
    for (auto const& comparison : resolved_.comparisons) condition.comparisons.push_back(place(comparison));
    condition.steps = resolved_.steps;
    return std::move(encoded_);
  }

 private:
  /// The columns and constants of one encoding.
  Result<void> encode(std::size_t encoding) {
    std::vector<keys::ColumnOfTable> columns;
    std::vector<OrderWords*> to;
    for (auto const side : {Side::left, Side::right}) {
      auto const& of_side = resolved_.columns(side);
      auto& words = side == Side::left ? encoded_.condition.left : encoded_.condition.right;
      for (std::size_t c = 0; c < of_side.size(); ++c) {
        if (of_side[c].encoding != encoding) continue;
        columns.push_back({side == Side::left ? left_ : right_, of_side[c].column});
        to.push_back(&words[c]);
      }
    }
    std::vector<std::unique_ptr<ConstantTable>> tables;
    std::vector<keys::ColumnOfTable> constants;
    std::vector<std::size_t> positions;
    for (std::size_t c = 0; c < resolved_.constants.size(); ++c) {
      if (resolved_.constants[c].encoding != encoding) continue;
      tables.push_back(std::make_unique<ConstantTable>(resolved_.constants[c]));
      constants.push_back({tables.back()->view(), 0});
      positions.push_back(c);
    }
    auto const& how = resolved_.encodings[encoding];
    GARUDA_TRY_ASSIGN(
        auto words,
        keys::encode_order({columns, constants, how.as, how.compares_columns, how.compares_order}, control_));
    for (std::size_t c = 0; c < columns.size(); ++c) keep(std::move(words.columns[c]), columns[c].table, *to[c]);
    for (std::size_t c = 0; c < positions.size(); ++c) constants_[positions[c]] = words.constants[c];
    for (auto& memory : words.memory) encoded_.shared_memory.push_back(std::move(memory));
    return {};
  }

  void keep(keys::OrderedColumn column, TableView table, OrderWords& words) {
    words.words = column.words;
    if (column.valid.size_bytes() > 0) {
      auto const rows = static_cast<std::uint64_t>(table.num_rows());
      words.valid = std::span(column.valid.as<std::uint64_t const>(), (rows + 63) / 64);
    }
    for (auto* const memory : {&column.owned_words, &column.valid})
      if (memory->size_bytes() > 0) encoded_.memory.push_back(std::move(*memory));
  }

  WordComparison place(ResolvedComparison const& resolved) const {
    WordComparison comparison;
    comparison.comparator = resolved.comparator;
    comparison.first = {resolved.first.source, static_cast<std::uint32_t>(resolved.first.index), 0};
    if (!resolved.second) return comparison;
    auto const& second = *resolved.second;
    if (second.source != WordOperand::Source::constant) {
      comparison.second = {second.source, static_cast<std::uint32_t>(second.index), 0};
      return comparison;
    }
    auto const& constant = constants_[second.index];
    auto const placed = place_comparator(resolved.comparator, constant.place);
    comparison.comparator = placed.comparator;
    comparison.second.word = placed.is_decided ? 0 : constant.word;
    return comparison;
  }

  ResolvedCondition const& resolved_;
  TableView left_;
  TableView right_;
  Control const& control_;
  std::vector<keys::ConstantWord> constants_;
  EncodedCondition encoded_;
};

}  // namespace

std::uint64_t EncodedCondition::owned_bytes() const noexcept {
  std::int64_t bytes = 0;
  for (auto const& buffer : memory) bytes += buffer.size_bytes();
  for (auto const& buffer : shared_memory) bytes += buffer->size_bytes();
  return static_cast<std::uint64_t>(bytes);
}

Result<EncodedCondition> encode_condition(ResolvedCondition const& condition, TableView left, TableView right,
                                          Control const& control) {
  return Encoder(condition, left, right, control).run();
}

}  // namespace garuda::expr
