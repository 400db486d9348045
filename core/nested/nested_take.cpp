#include "core/nested/nested_take.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/nested/nested_layout.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/type_rows.hpp"
#include "core/variable_value.hpp"

namespace garuda {
namespace {

using Rows = std::vector<NestedRow>;

template <class T>
T at(ArrowArray const& array, std::int64_t buffer, std::int64_t position) {
  return load<T>(static_cast<std::byte const*>(array.buffers[buffer]), position);
}

/// Copies the rows of one node.
class NodeTake {
 public:
  NodeTake(NestedType const& type, NestedNode node, std::span<ArrowArray const* const> parts,
           std::span<NestedRow const> rows)
      : type_(type), node_(std::move(node)), parts_(parts), rows_(rows) {}

  Result<std::unique_ptr<NestedArray>> run() {
    if (node_.has_validity()) GARUDA_TRY(copy_validity());
    GARUDA_TRY(copy());
    auto& array = out_->array;
    array.length = size();
    array.n_buffers = static_cast<std::int64_t>(out_->buffers.size());
    array.buffers = out_->buffers.data();
    for (auto const& child : out_->children) out_->child_pointers.push_back(&child->array);
    array.n_children = static_cast<std::int64_t>(out_->children.size());
    array.children = out_->child_pointers.data();
    if (out_->dictionary) array.dictionary = &out_->dictionary->array;
    return std::move(out_);
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(rows_.size()); }
  ArrowArray const& part(NestedRow const& row) const { return *parts_[row.part]; }
  bool is_null(NestedRow const& row) const {
    if (row.position < 0) return true;
    auto const* const validity = static_cast<std::uint8_t const*>(part(row).buffers[0]);
    return validity != nullptr && !get_bit(validity, row.position);
  }

  /// A new buffer of the array, zeroed.
  Result<std::byte*> add_buffer(std::int64_t bytes) {
    GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(std::max<std::int64_t>(bytes, 1)));
    std::memset(buffer.data(), 0, static_cast<std::size_t>(buffer.size_bytes()));
    auto* const data = buffer.data();
    out_->owned.push_back(std::move(buffer));
    out_->buffers.push_back(data);
    return data;
  }

  template <class BitOf>
  void set_bits(std::byte* bits, BitOf const& bit_of) const {
    for (std::int64_t i = 0; i < size(); ++i)
      if (bit_of(rows_[static_cast<std::size_t>(i)])) bits[i / 8] |= static_cast<std::byte>(1U << (i % 8));
  }

  Result<void> copy_validity() {
    auto const nulls = std::ranges::count_if(rows_, [&](NestedRow const& row) { return is_null(row); });
    out_->array.null_count = nulls;
    if (nulls == 0) {
      out_->buffers.push_back(nullptr);
      return {};
    }
    GARUDA_TRY_ASSIGN(auto* const bits, add_buffer(bitmap_bytes(size())));
    set_bits(bits, [&](NestedRow const& row) { return !is_null(row); });
    return {};
  }

  Result<void> copy() {
    switch (node_.layout) {
      case NestedLayout::leaf:
        return copy_leaf();
      case NestedLayout::dictionary:
        return copy_dictionary();
      case NestedLayout::null:
        out_->array.null_count = size();
        return {};
      case NestedLayout::fixed_size_list:
        return copy_fixed_lists();
      case NestedLayout::run_end_encoded:
        return copy_runs();
      case NestedLayout::structure:
        return copy_fields();
      case NestedLayout::sparse_union:
        GARUDA_TRY(copy_type_ids());
        return copy_fields();
      case NestedLayout::dense_union:
        return copy_dense_union();
      default:
        return node_.has_large_offsets() ? copy_lists<std::int64_t>() : copy_lists<std::int32_t>();
    }
  }

  Result<void> add_child(std::size_t c, Rows const& rows) {
    std::vector<ArrowArray const*> children;
    for (auto const* part : parts_) children.push_back(part->children[c]);
    GARUDA_TRY_ASSIGN(auto child, take_nested(type_.children[c], children, rows));
    out_->children.push_back(std::move(child));
    return {};
  }

  tl::unexpected<Error> too_many(std::string_view what) const {
    return fail(ErrorCode::limit_exceeded,
                fmt::format("{} of a column of type {} do not reach over the {} rows of a batch; fewer are asked for "
                            "with chunk_rows",
                            what, to_string(type_), size()));
  }

  // --- leaves ---

  Result<void> copy_leaf() {
    if (is_variable_width(node_.leaf) || is_view(node_.leaf)) return copy_bytes();
    if (node_.leaf.id == TypeId::boolean) {
      GARUDA_TRY_ASSIGN(auto* const bits, add_buffer(bitmap_bytes(size())));
      set_bits(bits, [&](NestedRow const& row) {
        return !is_null(row) && get_bit(static_cast<std::uint8_t const*>(part(row).buffers[1]), row.position);
      });
      return {};
    }
    auto const width = std::int64_t{byte_width(node_.leaf)};
    GARUDA_TRY_ASSIGN(auto* to, add_buffer(size() * width));
    auto const value_at = [&](NestedRow const& row) {
      return static_cast<std::byte const*>(part(row).buffers[1]) + row.position * width;
    };
    constexpr std::size_t kAhead = 16;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i + kAhead < rows_.size() && rows_[i + kAhead].position >= 0) __builtin_prefetch(value_at(rows_[i + kAhead]));
      if (!is_null(rows_[i])) std::memcpy(to, value_at(rows_[i]), static_cast<std::size_t>(width));
      to += width;
    }
    return {};
  }

  std::string_view value(NestedRow const& row) const {
    if (is_null(row)) return {};
    auto const& array = part(row);
    ArrayView view;
    ViewBuffers const data{array.n_buffers - 3, array.buffers + 2, nullptr};
    bool const has_views = is_view(node_.leaf);
    view.offsets = has_views ? static_cast<void const*>(&data) : array.buffers[1];
    view.values = array.buffers[has_views ? 1 : 2];
    return variable_value(view, value_layout(node_.leaf), row.position);
  }

  Result<void> copy_bytes() {
    std::int64_t bytes = 0;
    for (auto const& row : rows_) bytes += static_cast<std::int64_t>(value(row).size());
    bool const is_large = has_large_offsets(node_.leaf);
    if (!is_large && bytes > std::numeric_limits<std::int32_t>::max()) return too_many("offsets of strings");
    if (is_view(node_.leaf)) return copy_views(bytes);
    auto const width = is_large ? sizeof(std::int64_t) : sizeof(std::int32_t);
    GARUDA_TRY_ASSIGN(auto* offsets, add_buffer((size() + 1) * static_cast<std::int64_t>(width)));
    GARUDA_TRY_ASSIGN(auto* const values, add_buffer(bytes));
    std::int64_t end = 0;
    for (auto const& row : rows_) {
      auto const text = value(row);
      if (!text.empty()) std::memcpy(values + end, text.data(), text.size());
      end += static_cast<std::int64_t>(text.size());
      offsets += width;
      std::memcpy(offsets, &end, width);
    }
    return {};
  }

  Result<void> copy_views(std::int64_t bytes) {
    GARUDA_TRY_ASSIGN(auto* views, add_buffer(size() * std::int64_t{sizeof(ValueView)}));
    GARUDA_TRY_ASSIGN(auto* const values, add_buffer(bytes));
    GARUDA_TRY_ASSIGN(auto* const sizes, add_buffer(sizeof(std::int64_t)));
    std::int32_t end = 0;
    for (auto const& row : rows_) {
      auto const text = value(row);
      auto const view = make_view(text, end);
      std::memcpy(views, &view, sizeof(view));
      views += sizeof(view);
      if (view.length <= kInlineViewBytes) continue;
      std::memcpy(values + end, text.data(), text.size());
      end += view.length;
    }
    std::int64_t const used = end;
    std::memcpy(sizes, &used, sizeof(used));
    return {};
  }

  // --- dictionaries: the values of all parts, one behind the other ---

  Result<void> copy_dictionary() {
    std::vector<ArrowArray const*> dictionaries;
    std::vector<std::int64_t> first_of_part;
    std::vector<std::pair<ArrowArray const*, std::int64_t>> seen;
    Rows values;
    for (auto const* part : parts_) {
      auto const* const dictionary = part->dictionary;
      auto const known =
          std::ranges::find_if(seen, [&](auto const& other) { return is_same(*other.first, *dictionary); });
      if (known != seen.end()) {
        first_of_part.push_back(known->second);
        continue;
      }
      first_of_part.push_back(static_cast<std::int64_t>(values.size()));
      seen.emplace_back(dictionary, first_of_part.back());
      auto const which = static_cast<std::uint32_t>(dictionaries.size());
      dictionaries.push_back(dictionary);
      for (std::int64_t i = 0; i < dictionary->length; ++i) values.push_back({which, dictionary->offset + i});
    }
    GARUDA_TRY_ASSIGN(out_->dictionary, take_nested(*type_.dictionary, dictionaries, values));
    GARUDA_TRY_ASSIGN(auto* to, add_buffer(size() * byte_width(node_.leaf)));
    return visit_integers(byte_width(node_.leaf), type_row(node_.leaf.id).is_signed, [&]<class T>(T*) -> Result<void> {
      if (!values.empty() && std::cmp_greater(values.size() - 1, std::numeric_limits<T>::max()))
        return too_many("indices");
      for (auto const& row : rows_) {
        T const index =
            is_null(row) ? T{0} : static_cast<T>(at<T>(part(row), 1, row.position) + first_of_part[row.part]);
        std::memcpy(to, &index, sizeof(index));
        to += sizeof(index);
      }
      return {};
    });
  }

  static bool is_same(ArrowArray const& a, ArrowArray const& b) {
    return &a == &b || (a.length == b.length && a.offset == b.offset && a.n_buffers == b.n_buffers &&
                        a.n_children == 0 && b.n_children == 0 && a.dictionary == nullptr && b.dictionary == nullptr &&
                        std::equal(a.buffers, a.buffers + a.n_buffers, b.buffers));
  }

  // --- nodes with children ---

  Result<void> copy_fields() {
    for (std::size_t c = 0; c < type_.children.size(); ++c) {
      Rows rows(rows_.begin(), rows_.end());
      for (auto& row : rows)
        if (row.position >= 0) row.position += part(row).children[c]->offset;
      GARUDA_TRY(add_child(c, rows));
    }
    return {};
  }

  template <class Offset>
  Result<void> copy_lists() {
    Rows rows;
    bool const has_sizes = node_.has_sizes();
    GARUDA_TRY_ASSIGN(auto* offsets, add_buffer((size() + (has_sizes ? 0 : 1)) * std::int64_t{sizeof(Offset)}));
    std::byte* sizes = nullptr;
    if (has_sizes) {
      GARUDA_TRY_ASSIGN(sizes, add_buffer(size() * std::int64_t{sizeof(Offset)}));
    }
    auto const length_of = [&](NestedRow const& row) {
      return has_sizes ? at<Offset>(part(row), 2, row.position)
                       : static_cast<Offset>(at<Offset>(part(row), 1, row.position + 1) -
                                             at<Offset>(part(row), 1, row.position));
    };
    std::size_t elements = 0;
    for (auto const& row : rows_)
      if (!is_null(row)) elements += static_cast<std::size_t>(length_of(row));
    if (std::cmp_greater(elements, std::numeric_limits<Offset>::max())) return too_many("offsets of lists");
    rows.reserve(elements);
    for (auto const& row : rows_) {
      auto const first = static_cast<Offset>(rows.size());
      if (!is_null(row)) {
        auto const begin = at<Offset>(part(row), 1, row.position);
        auto const length = length_of(row);
        auto const offset = part(row).children[0]->offset;
        for (Offset i = 0; i < length; ++i) rows.push_back({row.part, offset + begin + i});
      }
      auto const length = static_cast<Offset>(rows.size() - static_cast<std::size_t>(first));
      auto const end = static_cast<Offset>(rows.size());
      if (has_sizes) {
        std::memcpy(offsets, &first, sizeof(Offset));
        std::memcpy(std::exchange(sizes, sizes + sizeof(Offset)), &length, sizeof(Offset));
      } else {
        std::memcpy(offsets + sizeof(Offset), &end, sizeof(Offset));
      }
      offsets += sizeof(Offset);
    }
    return add_child(0, rows);
  }

  Result<void> copy_fixed_lists() {
    Rows rows;
    rows.reserve(rows_.size() * static_cast<std::size_t>(node_.list_size));
    for (auto const& row : rows_)
      for (std::int64_t i = 0; i < node_.list_size; ++i)
        rows.push_back(
            {row.part, row.position < 0 ? -1 : part(row).children[0]->offset + row.position * node_.list_size + i});
    return add_child(0, rows);
  }

  /// Rows without one of the array have the first type.
  std::size_t child_of(NestedRow const& row) const {
    if (row.position < 0) return 0;
    auto const id = at<std::int8_t>(part(row), 0, row.position);
    return static_cast<std::size_t>(std::ranges::find(node_.type_ids, id) - node_.type_ids.begin());
  }

  Result<void> copy_type_ids() {
    if (rows_.size() > 0 && node_.type_ids.empty()) return too_many("types of a union without children");
    GARUDA_TRY_ASSIGN(auto* to, add_buffer(size()));
    for (auto const& row : rows_) *to++ = static_cast<std::byte>(node_.type_ids[child_of(row)]);
    return {};
  }

  Result<void> copy_dense_union() {
    GARUDA_TRY(copy_type_ids());
    GARUDA_TRY_ASSIGN(auto* to, add_buffer(size() * std::int64_t{sizeof(std::int32_t)}));
    std::vector<Rows> rows(type_.children.size());
    for (auto const& row : rows_) {
      auto const c = child_of(row);
      auto const place = static_cast<std::int32_t>(rows[c].size());
      if (rows[c].size() >= std::numeric_limits<std::int32_t>::max()) return too_many("offsets of a union");
      rows[c].push_back({row.part, row.position < 0
                                       ? -1
                                       : part(row).children[c]->offset + at<std::int32_t>(part(row), 1, row.position)});
      std::memcpy(to, &place, sizeof(place));
      to += sizeof(place);
    }
    for (std::size_t c = 0; c < rows.size(); ++c) GARUDA_TRY(add_child(c, rows[c]));
    return {};
  }

  /// Neighbours of one run of the array stay a run.
  Result<void> copy_runs() {
    GARUDA_TRY_ASSIGN(auto const ends_node, parse_node(type_.children[0]));
    return visit_integers(byte_width(ends_node.leaf), true, [&]<class T>(T*) -> Result<void> {
      if (std::cmp_greater(size(), std::numeric_limits<T>::max())) return too_many("run ends");
      auto const run_of = [&](NestedRow const& row) -> std::int64_t {
        if (row.position < 0) return -1;
        auto const& ends = *part(row).children[0];
        std::int64_t low = 0;
        for (auto high = ends.length; low < high;) {
          auto const middle = low + (high - low) / 2;
          if (std::cmp_greater(at<T>(ends, 1, ends.offset + middle), row.position))
            high = middle;
          else
            low = middle + 1;
        }
        return part(row).children[1]->offset + low;
      };
      Rows values;
      std::vector<T> ends;
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        NestedRow const run{rows_[i].part, run_of(rows_[i])};
        bool const goes_on = !values.empty() && values.back().position == run.position &&
                             (values.back().part == run.part || run.position < 0);
        if (!goes_on) {
          values.push_back(run);
          ends.push_back(0);
        }
        ends.back() = static_cast<T>(i + 1);
      }
      auto of_ends = std::make_unique<NestedArray>();
      GARUDA_TRY_ASSIGN(auto buffer, AlignedBuffer::allocate(std::max<std::int64_t>(
                                         1, static_cast<std::int64_t>(ends.size() * sizeof(T)))));
      std::copy(ends.begin(), ends.end(), buffer.as<T>());
      of_ends->buffers = {nullptr, buffer.data()};
      of_ends->owned.push_back(std::move(buffer));
      of_ends->array.length = static_cast<std::int64_t>(ends.size());
      of_ends->array.n_buffers = 2;
      of_ends->array.buffers = of_ends->buffers.data();
      out_->children.push_back(std::move(of_ends));
      return add_child(1, values);
    });
  }

  NestedType const& type_;
  NestedNode node_;
  std::span<ArrowArray const* const> parts_;
  std::span<NestedRow const> rows_;
  std::unique_ptr<NestedArray> out_ = std::make_unique<NestedArray>();
};

}  // namespace

Result<std::unique_ptr<NestedArray>> take_nested(NestedType const& type, std::span<ArrowArray const* const> parts,
                                                 std::span<NestedRow const> rows) {
  GARUDA_TRY_ASSIGN(auto node, parse_node(type));
  return NodeTake(type, std::move(node), parts, rows).run();
}

}  // namespace garuda
