#include "core/nested/nested_validate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/arrow/arrow_validate.hpp"
#include "core/bitmap.hpp"
#include "core/load.hpp"
#include "core/nested/nested_layout.hpp"
#include "core/numbers/integer_types.hpp"
#include "core/type_rows.hpp"

namespace garuda {
namespace {

/// The rows of one node that are looked at.
class NodeCheck {
 public:
  NodeCheck(ArrowArray const& array, NestedType const& type, NestedNode node, RowWindow window, ImportStorage& storage)
      : array_(array), type_(type), node_(std::move(node)), window_(window), storage_(storage) {}

  Result<void> run() const {
    if (node_.layout == NestedLayout::leaf) return check_leaf();
    GARUDA_TRY(check_shape(array_, node_.num_buffers, node_.num_children));
    if (window_.first < 0 || window_.first > array_.length || window_.length > array_.length - window_.first)
      return invalid_array(fmt::format("fewer rows than the {} that are referred to: {}",
                                       window_.first + window_.length, array_.length));
    if (node_.has_validity()) GARUDA_TRY(check_validity(array_, window_));
    switch (node_.layout) {
      case NestedLayout::dictionary:
        return check_dictionary();
      case NestedLayout::fixed_size_list:
        if (node_.list_size > 0 &&
            first() + window_.length > std::numeric_limits<std::int64_t>::max() / node_.list_size)
          return invalid_array(fmt::format("more values than an address space holds: lists of {}", node_.list_size));
        return check_child(0, {first() * node_.list_size, window_.length * node_.list_size});
      case NestedLayout::structure:
      case NestedLayout::sparse_union:
        GARUDA_TRY(check_type_ids());
        for (std::int64_t c = 0; c < node_.num_children; ++c) GARUDA_TRY(check_child(c, {first(), window_.length}));
        return {};
      case NestedLayout::dense_union:
        return check_dense_union();
      case NestedLayout::run_end_encoded:
        return check_runs();
      default:
        return node_.is_list() ? check_lists() : Result<void>{};
    }
  }

 private:
  /// Position of the first row in the buffers.
  std::int64_t first() const { return array_.offset + window_.first; }
  template <class T>
  T at(std::int64_t buffer, std::int64_t position) const {
    return load<T>(static_cast<std::byte const*>(array_.buffers[buffer]), position);
  }
  bool is_null(std::int64_t position) const {
    auto const* const validity = static_cast<std::uint8_t const*>(array_.buffers[0]);
    return validity != nullptr && !get_bit(validity, position);
  }

  Result<void> check_leaf() const {
    std::optional<KnownDictionary> none;
    GARUDA_TRY(view_array(array_, node_.leaf, window_, storage_, none));
    return {};
  }

  /// Rows of a child, from its own offset on.
  Result<void> check_child(std::int64_t c, RowWindow window) const {
    auto const* const child = array_.children[c];
    if (child == nullptr) return invalid_array(fmt::format("child array is null: {}", c));
    return validate_nested(*child, type_.children[static_cast<std::size_t>(c)], window, storage_);
  }

  Result<void> need_buffers(std::int64_t from) const {
    for (auto b = from; b < node_.num_buffers; ++b)
      if (array_.buffers[b] == nullptr && window_.length > 0)
        return invalid_array(fmt::format("buffer {} of {} is null, rows: {}", b, to_string(type_), window_.length));
    return {};
  }

  Result<void> check_dictionary() const {
    if (array_.dictionary == nullptr) return invalid_array("dictionary is missing");
    GARUDA_TRY(need_buffers(1));
    auto const& values = *array_.dictionary;
    GARUDA_TRY(validate_nested(values, *type_.dictionary, {0, values.length}, storage_));
    return visit_integers(byte_width(node_.leaf), type_row(node_.leaf.id).is_signed, [&]<class T>(T*) -> Result<void> {
      for (auto row = first(); row < first() + window_.length; ++row) {
        if (is_null(row)) continue;
        auto const index = at<T>(1, row);
        if (std::cmp_less(index, 0) || std::cmp_greater_equal(index, values.length))
          return invalid_array(fmt::format("dictionary index out of range [0, {}): {}", values.length, index));
      }
      return {};
    });
  }

  Result<void> check_lists() const {
    GARUDA_TRY(need_buffers(1));
    return node_.has_large_offsets() ? check_lists_of<std::int64_t>() : check_lists_of<std::int32_t>();
  }

  template <class Offset>
  Result<void> check_lists_of() const {
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = 0;
    for (auto row = first(); row < first() + window_.length; ++row) {
      if (node_.has_sizes() && is_null(row)) continue;
      std::int64_t const begin = at<Offset>(1, row);
      std::int64_t const length = node_.has_sizes() ? at<Offset>(2, row) : at<Offset>(1, row + 1) - begin;
      if (begin < 0 || length < 0 || begin > std::numeric_limits<std::int64_t>::max() - length)
        return invalid_array(fmt::format("list out of range: {} values from {} on", length, begin));
      if (length == 0) continue;
      least = std::min(least, begin);
      end = std::max(end, begin + length);
    }
    return check_child(0, end == 0 ? RowWindow{} : RowWindow{least, end - least});
  }

  Result<void> check_type_ids() const {
    if (node_.layout == NestedLayout::structure) return {};
    GARUDA_TRY(need_buffers(0));
    for (auto row = first(); row < first() + window_.length; ++row)
      if (auto const id = at<std::int8_t>(0, row); std::ranges::find(node_.type_ids, id) == node_.type_ids.end())
        return invalid_array(fmt::format("type of a union is none of its children's: {}", id));
    return {};
  }

  Result<void> check_dense_union() const {
    GARUDA_TRY(check_type_ids());
    std::vector<std::int64_t> ends(node_.type_ids.size());
    for (auto row = first(); row < first() + window_.length; ++row) {
      auto const child = std::ranges::find(node_.type_ids, at<std::int8_t>(0, row)) - node_.type_ids.begin();
      auto const place = at<std::int32_t>(1, row);
      if (place < 0) return invalid_array(fmt::format("offset of a union is negative: {}", place));
      auto& end = ends[static_cast<std::size_t>(child)];
      end = std::max<std::int64_t>(end, std::int64_t{place} + 1);
    }
    for (std::size_t c = 0; c < ends.size(); ++c) GARUDA_TRY(check_child(static_cast<std::int64_t>(c), {0, ends[c]}));
    return {};
  }

  Result<void> check_runs() const {
    auto const* const ends = array_.children[0];
    auto const* const values = array_.children[1];
    if (ends == nullptr || values == nullptr) return invalid_array("child array of runs is null");
    GARUDA_TRY(check_child(0, {0, ends->length}));
    GARUDA_TRY_ASSIGN(auto const node, parse_node(type_.children[0]));
    auto const id = node.leaf.id;
    if (node.layout != NestedLayout::leaf || (id != TypeId::int16 && id != TypeId::int32 && id != TypeId::int64))
      return invalid_array(fmt::format("run ends are not int16, int32 or int64: {}", to_string(type_.children[0])));
    return visit_integers(byte_width(node.leaf), true, [&]<class T>(T*) -> Result<void> {
      std::int64_t last = 0;
      for (std::int64_t run = 0; run < ends->length; ++run) {
        auto const end = load<T>(static_cast<std::byte const*>(ends->buffers[1]), ends->offset + run);
        if (std::cmp_less_equal(end, last))
          return invalid_array(fmt::format("run ends do not rise: {} after {}", end, last));
        last = static_cast<std::int64_t>(end);
      }
      if (window_.length > 0 && last < first() + window_.length)
        return invalid_array(fmt::format("runs end before the last row: {}", last));
      return check_child(1, {0, ends->length});
    });
  }

  ArrowArray const& array_;
  NestedType const& type_;
  NestedNode node_;
  RowWindow window_;
  ImportStorage& storage_;
};

}  // namespace

Result<void> validate_nested(ArrowArray const& array, NestedType const& type, RowWindow window,
                             ImportStorage& storage) {
  GARUDA_TRY_ASSIGN(auto node, parse_node(type));
  return NodeCheck(array, type, std::move(node), window, storage).run();
}

}  // namespace garuda
