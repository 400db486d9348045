#include "operators/group_by/written_columns.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/bitmap.hpp"
#include "core/buffer.hpp"
#include "core/parallel_blocks.hpp"
#include "garuda/arrow_c.hpp"
#include "operators/resolve/exact_state.hpp"

namespace garuda::group_by {
namespace {

/// Groups whose lists one task sorts.
constexpr std::uint64_t kSortedGroups = std::uint64_t{1} << 12;

/// Memory that a column of lists keeps alive.
struct ListMemory {
  std::vector<std::int32_t> offsets{0};
  std::vector<std::uint8_t> validity;
  AlignedBuffer values;
  Batch elements;         ///< a column; its owner is the column's alone
  ArrowArray exported{};  ///< of the elements
  std::array<void const*, 2> buffers{};
  ArrowArray lists{};

  ListMemory() = default;
  ListMemory(ListMemory const&) = delete;
  ListMemory& operator=(ListMemory const&) = delete;
  ~ListMemory() {
    if (exported.release != nullptr) exported.release(&exported);
  }
};

/// The column of lists of `range`, which refers to `memory`.
Result<ArrayView> list_column(resolve::GroupRange const& range, std::int64_t nulls, DataType const& element,
                              ListMemory& memory) {
  ArrowSchema schema{};
  GARUDA_TRY(export_arrow({Field{"item", element}}, memory.elements, &memory.exported, &schema));
  schema.release(&schema);
  auto& lists = memory.lists;
  lists.length = static_cast<std::int64_t>(range.count);
  lists.null_count = nulls == 0 ? 0 : -1;
  memory.buffers = {nulls == 0 ? nullptr : memory.validity.data(), memory.offsets.data()};
  lists.n_buffers = static_cast<std::int64_t>(memory.buffers.size());
  lists.buffers = memory.buffers.data();
  lists.n_children = 1;
  lists.children = memory.exported.children;
  ArrayView column;
  column.length = lists.length;
  column.null_count = lists.null_count;
  column.validity = nulls == 0 ? nullptr : memory.validity.data();
  column.values = &lists;
  return column;
}

/// Sets sizes and validity; returns the number of nulls. Ends the range where offsets would not reach.
std::int64_t measure(resolve::FinaliseInput const& input, resolve::GroupRange& range, ListMemory& memory) {
  auto const& lists = input.state.lists;
  memory.validity.assign(static_cast<std::size_t>(bitmap_bytes(static_cast<std::int64_t>(range.count))), 0);
  std::int64_t nulls = 0;
  for (std::uint64_t i = 0; i < range.count; ++i) {
    auto const size = std::min(lists.offsets[range[i] + 1] - lists.offsets[range[i]], input.aggregate->most);
    auto const end = static_cast<std::uint64_t>(memory.offsets.back()) + size;
    if (end > static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max())) range.count = i;
    if (i == range.count) break;
    memory.offsets.push_back(static_cast<std::int32_t>(end));
    if (size == 0)
      ++nulls;
    else
      memory.validity[i / 8] = static_cast<std::uint8_t>(memory.validity[i / 8] | (1U << (i % 8)));
  }
  return nulls;
}

/// The words of all lists, each in its order.
template <class Word>
Result<std::vector<Word>> sort_lists(resolve::FinaliseInput const& input, resolve::GroupRange const& range,
                                     std::vector<std::int32_t> const& offsets, Control const& control) {
  bool const is_least = input.aggregate->row->function == AggregateFunction::min_n;
  auto const comes_first = [order = input.order, is_least](Word a, Word b) {
    if (!is_least) std::swap(a, b);
    return order != nullptr ? order->is_less(a, b) : a < b;
  };
  std::vector<Word> sorted(static_cast<std::size_t>(offsets.back()));
  auto const& lists = input.state.lists;
  GARUDA_TRY(for_each_block((range.count + kSortedGroups - 1) / kSortedGroups, &control, [&](std::size_t block) {
    auto const end = std::min(range.count, (block + 1) * kSortedGroups);
    std::vector<Word> values;
    for (auto i = block * kSortedGroups; i < end; ++i) {
      auto const first = lists.offsets[range[i]];
      values.resize(lists.offsets[range[i] + 1] - first);
      if (values.empty()) continue;
      std::memcpy(values.data(), &lists.words[first * sizeof(Word) / 8], values.size() * sizeof(Word));
      std::partial_sort_copy(values.begin(), values.end(), sorted.begin() + offsets[i], sorted.begin() + offsets[i + 1],
                             comes_first);
    }
  }));
  return sorted;
}

/// Values of fixed width, and booleans.
template <class Word>
Result<void> write_elements(resolve::FinaliseInput const& input, std::vector<Word> const& words, ListMemory& memory) {
  auto const width = static_cast<std::size_t>(byte_width(input.input));
  auto const count = static_cast<std::int64_t>(words.size());
  auto const bytes = width == 0 ? bitmap_bytes(count) : count * static_cast<std::int64_t>(width);
  GARUDA_TRY_ASSIGN(memory.values, AlignedBuffer::allocate(bytes));
  if (width == 0) std::fill_n(memory.values.as<std::uint8_t>(), bytes, std::uint8_t{0});
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::uint64_t ordered[2] = {};
    std::memcpy(ordered, &words[i], sizeof(Word));
    auto const bits = resolve::stored_bits(ordered, input.kind, input.input);
    if (width != 0) {
      std::memcpy(memory.values.data() + i * width, &bits, width);  // little endian: the lowest bytes
    } else {
      auto& byte = memory.values.as<std::uint8_t>()[i / 8];
      byte = static_cast<std::uint8_t>(byte | (bits != 0 ? 1U : 0U) << (i % 8));
    }
  }
  ArrayView elements;
  elements.length = count;
  elements.null_count = 0;
  elements.values = memory.values.data();
  memory.elements.num_rows = count;
  memory.elements.columns.push_back(elements);
  return {};
}

/// Gathers the values of entries, and ends the range at the last list that has all of its own.
Result<void> gather_elements(resolve::FinaliseInput const& input, std::vector<UInt128> const& entries,
                             Gatherer const& gatherer, resolve::GroupRange& range, ListMemory& memory) {
  std::vector<std::int64_t> rows(entries.size());
  std::ranges::transform(entries, rows.begin(),
                         [&](UInt128 entry) { return static_cast<std::int64_t>(input.order->row_of(entry)); });
  GARUDA_TRY_ASSIGN(auto gathered, gatherer.gather(std::span<std::int64_t const>(rows)));
  auto const ends = std::ranges::upper_bound(memory.offsets, gathered.rows_taken);
  range.count = static_cast<std::uint64_t>(ends - memory.offsets.begin()) - 1;
  memory.offsets.resize(range.count + 1);
  memory.elements = std::move(gathered.batch);
  memory.elements.num_rows = memory.offsets.back();
  memory.elements.columns[0] = slice(memory.elements.columns[0], 0, memory.elements.num_rows);
  if (range.count == 0)
    return fail(ErrorCode::limit_exceeded,
                "a list holds more bytes than 32-bit offsets reach: " + input.aggregate->name);
  return {};
}

/// Groups whose states one task writes.
constexpr std::uint64_t kStateGroups = std::uint64_t{1} << 10;

/// Memory that the column keeps alive.
struct StateMemory {
  AlignedBuffer offsets;
  AlignedBuffer bytes;
};

}  // namespace

Result<Batch> write_lists(resolve::FinaliseInput const& input, resolve::GroupRange& range, Gatherer const* gatherer,
                          Control const& control) {
  try {
    auto memory = std::make_shared<ListMemory>();
    auto const nulls = measure(input, range, *memory);
    if (contract::extreme_words(input.kind) == 1) {
      GARUDA_TRY_ASSIGN(auto const words, sort_lists<std::uint64_t>(input, range, memory->offsets, control));
      GARUDA_TRY(write_elements(input, words, *memory));
    } else {
      GARUDA_TRY_ASSIGN(auto const words, sort_lists<UInt128>(input, range, memory->offsets, control));
      GARUDA_TRY(gatherer != nullptr ? gather_elements(input, words, *gatherer, range, *memory)
                                     : write_elements(input, words, *memory));
    }
    auto const& element = gatherer != nullptr ? gatherer->schema()[0].type : input.input;
    GARUDA_TRY_ASSIGN(auto const lists, list_column(range, nulls, element, *memory));
    Batch batch;
    batch.num_rows = lists.length;
    batch.columns.push_back(lists);
    batch.owner = std::move(memory);
    return batch;
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the lists of groups");
  }
}

Result<Batch> write_states(resolve::FinaliseInput const& input, resolve::GroupRange const& range,
                           Control const& control) {
  try {
    std::vector<std::vector<std::byte>> parts((range.count + kStateGroups - 1) / kStateGroups);
    GARUDA_TRY_ASSIGN(auto offsets,
                      AlignedBuffer::allocate(static_cast<std::int64_t>((range.count + 1) * sizeof(std::int64_t))));
    auto* const ends = offsets.as<std::int64_t>() + 1;
    GARUDA_TRY(for_each_block(parts.size(), &control, [&](std::size_t p) {
      auto const end = std::min(range.count, (p + 1) * kStateGroups);
      for (auto i = p * kStateGroups; i < end; ++i) {
        resolve::append_exact_state(resolve::exact_state_of(input, range[i]), parts[p]);
        ends[i] = static_cast<std::int64_t>(parts[p].size());
      }
    }));
    std::vector<std::size_t> bases(parts.size());
    std::size_t total = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      bases[p] = total;
      total += parts[p].size();
    }
    GARUDA_TRY_ASSIGN(auto bytes, AlignedBuffer::allocate(static_cast<std::int64_t>(total)));
    offsets.as<std::int64_t>()[0] = 0;
    GARUDA_TRY(for_each_block(parts.size(), &control, [&](std::size_t p) {
      std::ranges::copy(parts[p], bytes.data() + bases[p]);
      parts[p] = {};
      auto const end = std::min(range.count, (p + 1) * kStateGroups);
      for (auto i = p * kStateGroups; i < end; ++i) ends[i] += static_cast<std::int64_t>(bases[p]);
    }));
    ArrayView column;
    column.length = static_cast<std::int64_t>(range.count);
    column.null_count = 0;
    column.offsets = offsets.data();
    column.values = bytes.data();
    Batch batch;
    batch.num_rows = column.length;
    batch.columns.push_back(column);
    batch.owner = std::make_shared<StateMemory>(StateMemory{std::move(offsets), std::move(bytes)});
    return batch;
  } catch (std::bad_alloc const&) {
    return fail(ErrorCode::out_of_memory, "no memory for the states of groups");
  }
}

}  // namespace garuda::group_by
