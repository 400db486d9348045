#include "operators/group_by/grouped_result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "core/bitmap.hpp"
#include "core/nested/nested_layout.hpp"
#include "core/parallel_blocks.hpp"
#include "keys/codes/key_column.hpp"
#include "operators/contract/sizing.hpp"
#include "operators/group_by/written_columns.hpp"
#include "operators/resolve/exact_state.hpp"
#include "partition/radix_partition.hpp"

namespace garuda::group_by {
namespace {

/// Groups, or values of their lists, that one task finalises.
constexpr std::uint64_t kFinaliseRows = std::uint64_t{1} << 14;

/// Groups that one task finalises: a multiple of 8, so that tasks share no byte of a bitmap.
std::uint64_t finalised_at_once(contract::AggregateState const& state, std::uint64_t num_groups) {
  auto const values = state.lists.words.size() / std::max<std::uint64_t>(num_groups, 1);
  return std::max<std::uint64_t>(kFinaliseRows / (values + 1) / 8, 1) * 8;
}

resolve::GroupRange part_of(resolve::GroupRange const& range, std::uint64_t begin, std::uint64_t count) {
  return {range.first + begin, count, range.order};
}

/// Sets the bits of groups with values enough.
void write_validity(contract::AggregateState const& state, resolve::GroupRange const& groups, std::uint32_t least,
                    std::uint8_t* validity) {
  std::fill_n(validity, bitmap_bytes(static_cast<std::int64_t>(groups.count)), std::uint8_t{0});
  for (std::uint64_t i = 0; i < groups.count; ++i)
    if (!resolve::has_too_few(state, groups[i], least))
      validity[i / 8] = static_cast<std::uint8_t>(validity[i / 8] | (1U << (i % 8)));
}

/// Clears the values of nulls. Returns their number.
std::int64_t clear_nulls(resolve::FinaliseOutput const& out, std::uint64_t count, std::size_t width) {
  std::int64_t nulls = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!out.is_null(i)) continue;
    std::memset(out.values + i * width, 0, width);
    ++nulls;
  }
  return nulls;
}

/// Booleans of a byte each as bits.
Result<AlignedBuffer> packed_bits(AlignedBuffer const& bytes, std::uint64_t count) {
  GARUDA_TRY_ASSIGN(auto bits, AlignedBuffer::allocate(bitmap_bytes(static_cast<std::int64_t>(count))));
  auto* const words = bits.as<std::uint8_t>();
  std::fill_n(words, bits.size_bytes(), std::uint8_t{0});
  for (std::uint64_t i = 0; i < count; ++i)
    words[i / 8] = static_cast<std::uint8_t>(words[i / 8] | (bytes.as<std::uint8_t>()[i] & 1U) << (i % 8));
  return bits;
}

/// A row of the table that has the group's value.
std::int64_t row_of(resolve::ResolvedAggregate const& aggregate, contract::AggregateState const& state,
                    std::uint64_t group, ValueReader const& reader) {
  bool const is_least = (aggregate.row->states & contract::kMinState) != 0;
  auto const& extremes = is_least ? state.minima : state.maxima;
  if (resolve::is_empty_group(state, group)) return -1;
  switch (aggregate.row->making) {
    case resolve::Making::row:
      return static_cast<std::int64_t>(extremes[group]);
    case resolve::Making::ranked:  // its low word is the row, of greatest values the row's complement
      return static_cast<std::int64_t>(is_least ? extremes[2 * group] : ~extremes[2 * group]);
    default:
      return static_cast<std::int64_t>(reader.order()->row_of(wide_word(&extremes[2 * group])));
  }
}

}  // namespace

/// Memory that a batch keeps alive.
struct GroupWriter::Memory {
  Batch keys;
  std::vector<Batch> gathered;  ///< an aggregate each; empty batches for those that are not
  std::vector<AlignedBuffer> buffers;
  std::vector<keys::KeyDecoder::Column> decoded;
  std::vector<std::unique_ptr<ArrayView>> dictionaries;
};

Result<GroupWriter> GroupWriter::create(TableView table, resolve::ResolvedGroupBy const& columns,
                                        keys::KeyDecoder const* decoder) {
  GroupWriter writer(table, columns, decoder);
  if (!columns.keys.empty()) {
    GARUDA_TRY_ASSIGN(writer.keys_, Gatherer::create(table, columns.keys, columns.strings));
    writer.schema_ = writer.keys_->schema();
  }
  for (auto const& aggregate : columns.aggregates) {
    writer.gathered_.emplace_back();
    Field field{aggregate.name, aggregate.result, aggregate.row->is_nullable() && !aggregate.as_state};
    bool const is_list = aggregate.row->gives_lists();
    if (aggregate.row->finalise == nullptr &&
        (!is_list || resolve::value_source(aggregate.input).kind == contract::ValueKind::bytes)) {
      std::size_t const column = *aggregate.column;
      GARUDA_TRY_ASSIGN(writer.gathered_.back(),
                        Gatherer::create(table, std::span(&column, 1), is_list ? StringForm::utf8 : columns.strings));
      auto const& type = writer.gathered_.back()->schema()[0].type;
      field.type = is_list ? list_of(type) : type;
    }
    writer.schema_.push_back(std::move(field));
  }
  return writer;
}

Result<void> GroupWriter::write_keys(GroupChunk const& groups, resolve::GroupRange& range, Control const& control,
                                     Memory& memory) const {
  if (!keys_) return {};
  return decoder_ != nullptr ? decode_keys(groups, range, control, memory) : gather_keys(groups, range, memory);
}

Result<void> GroupWriter::decode_keys(GroupChunk const& groups, resolve::GroupRange& range, Control const& control,
                                      Memory& memory) const {
  range.count = std::min(range.count, decoder_->most_rows());
  std::vector<std::vector<std::uint64_t>> ordered(groups.key_words.size());
  std::vector<std::span<std::uint64_t const>> words;
  for (std::size_t w = 0; w < ordered.size(); ++w) {
    auto const& all = groups.key_words[w];
    if (range.order == nullptr) {
      words.push_back(std::span(all).subspan(range.first, range.count));
      continue;
    }
    ordered[w].reserve(range.count);
    for (std::uint64_t i = 0; i < range.count; ++i) ordered[w].push_back(all[range[i]]);
    words.emplace_back(ordered[w]);
  }
  memory.keys.num_rows = static_cast<std::int64_t>(range.count);
  for (std::size_t k = 0; k < decoder_->num_columns(); ++k) {
    GARUDA_TRY_ASSIGN(auto column, decoder_->decode(k, words[decoder_->word_of(k)], control));
    memory.keys.columns.push_back(column.array);
    memory.decoded.push_back(std::move(column));
  }
  return {};
}

Result<void> GroupWriter::gather_keys(GroupChunk const& groups, resolve::GroupRange& range, Memory& memory) const {
  std::vector<std::int64_t> rows(range.count);
  for (std::uint64_t i = 0; i < range.count; ++i) rows[i] = static_cast<std::int64_t>(groups.head_rows[range[i]]);
  GARUDA_TRY_ASSIGN(auto gathered, keys_->gather(std::span<std::int64_t const>(rows)));
  range.count = static_cast<std::uint64_t>(gathered.rows_taken);
  memory.keys = std::move(gathered.batch);
  for (std::size_t k = 0; k < memory.keys.columns.size(); ++k) {
    auto const& type = keys_->schema()[k].type;
    auto* column = &memory.keys.columns[k];
    if (type.id == TypeId::dictionary && keys::is_float_type(type.value->id)) {
      memory.dictionaries.push_back(std::make_unique<ArrayView>(*column->dictionary));
      column->dictionary = memory.dictionaries.back().get();
      column = memory.dictionaries.back().get();
    } else if (!keys::is_float_type(type.id)) {
      continue;
    }
    auto const id = type.id == TypeId::dictionary ? type.value->id : type.id;
    GARUDA_EXPECTS(column->offset == 0);
    GARUDA_TRY_ASSIGN(auto buffer, keys::canonical_floats(*column, id));
    column->values = buffer.data();
    memory.buffers.push_back(std::move(buffer));
  }
  return {};
}

resolve::FinaliseInput GroupWriter::input_of(std::size_t aggregate, GroupChunk const& groups,
                                             std::vector<ValueReader> const& values) const {
  auto const& column = columns_.aggregates[aggregate];
  return {groups.states[column.state],
          columns_.states[column.state].kind,
          column.input,
          column.result,
          groups.states,
          &column,
          values[column.state].order()};
}

/// Values that are those of a row, lists and states.
Result<void> GroupWriter::write_gathered(GroupChunk const& groups, resolve::GroupRange& range,
                                         std::vector<ValueReader> const& values, Control const& control,
                                         Memory& memory) const {
  memory.gathered.resize(gathered_.size());
  for (std::size_t a = 0; a < gathered_.size(); ++a) {
    auto const& aggregate = columns_.aggregates[a];
    if (aggregate.as_state) {
      GARUDA_TRY_ASSIGN(memory.gathered[a], write_states(input_of(a, groups, values), range, control));
      continue;
    }
    if (aggregate.row->finalise != nullptr) continue;
    if (aggregate.row->gives_lists()) {
      GARUDA_TRY_ASSIGN(memory.gathered[a], write_lists(input_of(a, groups, values), range,
                                                        gathered_[a] ? &*gathered_[a] : nullptr, control));
      continue;
    }
    std::vector<std::int64_t> rows(range.count);
    for (std::uint64_t i = 0; i < range.count; ++i)
      rows[i] = row_of(aggregate, groups.states[aggregate.state], range[i], values[aggregate.state]);
    GARUDA_TRY_ASSIGN(auto gathered, gathered_[a]->gather(std::span<std::int64_t const>(rows)));
    range.count = static_cast<std::uint64_t>(gathered.rows_taken);
    memory.gathered[a] = std::move(gathered.batch);
  }
  return {};
}

Result<ArrayView> GroupWriter::write_values(std::size_t aggregate, GroupChunk const& groups,
                                            resolve::GroupRange const& range, std::vector<ValueReader> const& readers,
                                            Control const& control, Memory& memory) const {
  auto const& column = columns_.aggregates[aggregate];
  auto const& state = groups.states[column.state];
  bool const is_boolean = column.result.id == TypeId::boolean;
  auto const width = is_boolean ? 1 : static_cast<std::size_t>(byte_width(column.result));
  auto const has_nulls = column.row->is_nullable() && !state.counts.empty();
  GARUDA_TRY_ASSIGN(auto values, AlignedBuffer::allocate(static_cast<std::int64_t>(range.count * width)));
  AlignedBuffer validity;
  if (has_nulls) {
    GARUDA_TRY_ASSIGN(validity, AlignedBuffer::allocate(bitmap_bytes(static_cast<std::int64_t>(range.count))));
  }
  constexpr auto kNone = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::int64_t> nulls{0};
  auto const task_rows = finalised_at_once(state, groups.size());
  std::vector<std::uint64_t> overflows((range.count + task_rows - 1) / task_rows, kNone);
  auto input = input_of(aggregate, groups, readers);
  input.control = &control;
  GARUDA_TRY(for_each_block(overflows.size(), &control, [&](std::size_t block) {
    auto const begin = block * task_rows;
    auto const part = part_of(range, begin, std::min(task_rows, range.count - begin));
    resolve::FinaliseOutput const out{values.data() + begin * width,
                                      has_nulls ? validity.as<std::uint8_t>() + begin / 8 : nullptr};
    if (has_nulls) write_validity(state, part, column.row->least_values, out.validity);
    overflows[block] = column.row->finalise(input, part, out).value_or(kNone);
    if (has_nulls) nulls += clear_nulls(out, part.count, width);
  }));
  for (auto const group : overflows)
    if (group != kNone) {
      GARUDA_TRY_ASSIGN(auto error, overflow(aggregate, groups, group, control));
      return tl::unexpected<Error>(std::move(error));
    }
  if (is_boolean) {
    GARUDA_TRY_ASSIGN(values, packed_bits(values, range.count));
  }
  ArrayView view;
  view.length = static_cast<std::int64_t>(range.count);
  view.null_count = nulls.load();
  view.values = values.data();
  if (view.null_count > 0) view.validity = validity.as<std::uint8_t>();
  memory.buffers.push_back(std::move(values));
  memory.buffers.push_back(std::move(validity));
  return view;
}

Result<Error> GroupWriter::overflow(std::size_t aggregate, GroupChunk const& groups, std::uint64_t group,
                                    Control const& control) const {
  // The group's keys as the result would have had them.
  Memory memory;
  resolve::GroupRange one{group, 1, nullptr};
  GARUDA_TRY(write_keys(groups, one, control, memory));
  if (!keys_) return resolve::sum_overflow(columns_.aggregates[aggregate], std::nullopt);
  auto schema = keys_->schema();
  for (std::size_t k = 0; k < columns_.key_names.size(); ++k) schema[k].name = columns_.key_names[k];
  BatchView const row{1, memory.keys.columns};
  return resolve::sum_overflow(columns_.aggregates[aggregate], TableView(schema, std::span(&row, 1)));
}

Result<Batch> GroupWriter::write(GroupChunk const& groups, resolve::GroupRange range,
                                 std::vector<ValueReader> const& values, Control const& control) const {
  auto memory = std::make_shared<Memory>();
  GARUDA_TRY(write_keys(groups, range, control, *memory));
  GARUDA_TRY(write_gathered(groups, range, values, control, *memory));
  Batch batch;
  batch.num_rows = static_cast<std::int64_t>(range.count);
  for (auto const& column : memory->keys.columns) batch.columns.push_back(slice(column, 0, batch.num_rows));
  for (std::size_t a = 0; a < columns_.aggregates.size(); ++a) {
    if (columns_.aggregates[a].row->finalise == nullptr || columns_.aggregates[a].as_state) {
      batch.columns.push_back(slice(memory->gathered[a].columns[0], 0, batch.num_rows));
      continue;
    }
    GARUDA_TRY_ASSIGN(auto const view, write_values(a, groups, range, values, control, *memory));
    batch.columns.push_back(view);
  }
  batch.owner = std::move(memory);
  return batch;
}

namespace {

/// Rows that one task sorts, in a core's cache.
constexpr std::uint64_t kSortedRows = std::uint64_t{1} << 15;

/// The positions of `rows`, which are distinct, in ascending order of the rows: scattered by their leading bits, then
/// sorted part by part, in parallel on the calling task arena. Errors: out_of_memory, cancelled.
Result<std::vector<std::uint64_t>> order_by_rows(std::span<std::uint64_t const> rows, Control const& control) {
  keys::EncodedKeys keys;
  keys.key_bits = 64;
  keys.num_rows = rows.size();
  keys.table_rows = rows.size();
  keys.words = rows.data();
  auto const last = rows.empty() ? 0 : *std::ranges::max_element(rows);
  auto const width = static_cast<std::uint32_t>(std::bit_width(last));
  auto const bits = std::min(contract::radix_bits_for(rows.size(), kSortedRows), width);
  partition::RadixDigit const digit{bits, bits == 0 ? 0 : width - bits, false};
  GARUDA_TRY_ASSIGN(auto const parts, partition::radix_partition(std::move(keys), digit, control));
  auto const sorted_rows = parts.keys64();
  std::vector<std::uint64_t> order(rows.size());
  GARUDA_TRY(for_each_block(parts.num_partitions(), &control, [&](std::size_t p) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> part;
    for (auto i = parts.offsets[p]; i < parts.offsets[p + 1]; ++i) part.emplace_back(sorted_rows[i], parts.row_id(i));
    std::sort(part.begin(), part.end());
    std::transform(part.begin(), part.end(), order.begin() + static_cast<std::ptrdiff_t>(parts.offsets[p]),
                   [](auto const& entry) { return entry.second; });
  }));
  return order;
}

/// Pulls partitions out of a PartitionedGroupBy and writes their groups chunk by chunk.
class GroupedResult final : public GroupByResult {
 public:
  GroupedResult(GroupWriter writer, std::unique_ptr<PartitionedGroupBy> run, bool ordered, std::uint64_t kept_limit)
      : writer_(std::move(writer)),
        run_(std::move(run)),
        plan_(run_->plan()),
        ordered_(ordered),
        kept_limit_(kept_limit) {
    if (!ordered_) run_->write_in_lanes([this](GroupChunk const& groups, auto first) { return write(groups, first); });
  }

  Schema const& schema() const noexcept override { return writer_.schema(); }
  Plan const& plan() const noexcept override { return plan_; }
  RunStats stats() const override { return run_->stats(rows_out_); }

  Result<std::optional<Batch>> next() override {
    if (ended_) return std::nullopt;
    auto batch = next_batch();
    if (!batch || !*batch) {
      ended_ = true;
      plan_ = run_->plan();
      groups_.reset();
    }
    return batch;
  }

 private:
  Result<std::optional<Batch>> next_batch() {
    while (!groups_ || position_ == groups_->size()) {
      if (ordered_ && groups_) return std::nullopt;
      groups_.reset();
      position_ = 0;
      GARUDA_TRY_ASSIGN(auto piece, run_->next_partition());
      if (!piece) return std::nullopt;
      if (piece->batch) return counted(std::move(*piece->batch));
      groups_ = std::move(piece->groups);
      if (ordered_) GARUDA_TRY(load_all());
    }
    GARUDA_TRY_ASSIGN(auto batch, run_->arena().execute([&] { return write(*groups_, position_); }));
    position_ += static_cast<std::uint64_t>(batch.num_rows);
    return counted(std::move(batch));
  }

  Batch counted(Batch batch) {
    rows_out_ += static_cast<std::uint64_t>(batch.num_rows);
    return batch;
  }

  Result<Batch> write(GroupChunk const& groups, std::uint64_t first) const {
    auto const rows = std::min<std::uint64_t>(groups.size() - first, run_->chunk_rows());
    resolve::GroupRange const range{first, rows, order_.empty() ? nullptr : order_.data()};
    run::PhaseTimer const timer(run_->recorder(), "gather", 0, rows);
    return writer_.write(groups, range, run_->values(), run_->control());
  }

  Result<void> load_all() {
    while (true) {
      GARUDA_TRY_ASSIGN(auto next, run_->next_partition());
      if (!next) break;
      append_groups(run_->columns().states, std::move(next->groups), *groups_);
      if (kept_limit_ != 0 && groups_->bytes() > kept_limit_)
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("groups in the order of their first rows do not fit the memory limit: {} groups so far",
                                groups_->size()));
    }
    run::PhaseTimer const timer(run_->recorder(), "sort", groups_->size() * 8, groups_->size());
    return run_->arena().execute([&]() -> Result<void> {
      try {
        GARUDA_TRY_ASSIGN(order_, order_by_rows(groups_->head_rows, run_->control()));
        return {};
      } catch (std::bad_alloc const&) {
        return fail(ErrorCode::out_of_memory, "no memory to put the groups in order");
      }
    });
  }

  GroupWriter writer_;
  std::unique_ptr<PartitionedGroupBy> run_;
  Plan plan_;
  bool ordered_;
  std::uint64_t kept_limit_;  // bytes of groups that are kept; 0: no limit
  std::optional<GroupChunk> groups_;
  std::vector<std::uint64_t> order_;  // empty: as they are
  std::uint64_t position_ = 0;
  std::uint64_t rows_out_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<std::unique_ptr<GroupByResult>> grouped_result(resolve::GroupByRequest const& request,
                                                      std::unique_ptr<PartitionedGroupBy> run) {
  GARUDA_TRY_ASSIGN(auto writer, GroupWriter::create(request.table, request.columns, run->decoder()));
  return std::make_unique<GroupedResult>(std::move(writer), std::move(run), request.spec.ordered,
                                         request.options.memory_limit_bytes);
}

}  // namespace garuda::group_by
