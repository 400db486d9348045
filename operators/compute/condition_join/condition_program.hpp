// A condition as the passes of joins without keys take it: by specialisation constants, or as a program.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "expr/condition_parts.hpp"
#include "operators/compute/primitives/compute_context.hpp"

namespace garuda::compute {

/// What a pass reads of a side: words of a column, or whether it has values, as words 0 and 1.
struct SideWords {
  std::uint32_t column = 0;
  bool is_validity = false;

  friend bool operator==(SideWords const&, SideWords const&) = default;
};

/// Whether the program of a condition fits the passes: it keeps few results at a time.
bool fits_passes(expr::ConditionParts const& parts);

/// Whether one or two comparisons of columns of both tables are all that is left to test.
bool is_simple(expr::ConditionParts const& parts);

/// What of a condition is tested of pairs, seen from a side whose rows are probed. Addresses are filled in later.
class ConditionProgram {
 public:
  /// `condition`, which outlives the program, and its parts, which fit the passes and compare something.
  ConditionProgram(expr::PairCondition const& condition, expr::ConditionParts const& parts, Side probe);

  /// The words of a side that are read, each once.
  std::vector<SideWords> const& read(Side side) const noexcept { return side == probe_ ? probe_words_ : build_words_; }
  bool is_simple() const noexcept { return is_simple_; }
  Side probe() const noexcept { return probe_; }

  /// Specialisation constants, as kSpecComparisons and those behind it.
  std::vector<vk::SpecConstant> constants() const;

  /// Addresses of the words that read() names, in that order.
  struct Addresses {
    std::span<VkDeviceAddress const> probe;
    std::span<VkDeviceAddress const> build;
  };
  /// Words of the program, as the passes step through them. Requires: it is not simple.
  std::vector<std::uint32_t> words(Addresses const& addresses) const;

  /// One of the comparisons of a simple condition: build `comparator` probe, by position in read().
  struct Compared {
    Comparator comparator = Comparator::equal;
    std::size_t probe = 0;
    std::size_t build = 0;
    std::uint32_t words = 1;
  };
  std::vector<Compared> const& compared() const noexcept { return compared_; }

 private:
  struct Operand {
    std::uint32_t source = 0;  ///< kProbeOperand, kBuildOperand, kConstantOperand
    std::uint64_t value = 0;   ///< position in read(), or the constant
  };
  struct Step {
    std::uint32_t kind = 0;
    std::uint32_t comparator = 0;
    std::uint32_t words = 1;
    Operand first;
    Operand second;
  };

  std::size_t position(Side side, SideWords words);
  Operand operand_of(expr::WordOperand const& operand);
  void add_comparison(expr::WordComparison const& comparison);
  void add_validity(expr::WordOperand const& operand);

  expr::PairCondition const* condition_;
  Side probe_;
  bool is_simple_ = false;
  std::vector<SideWords> probe_words_;
  std::vector<SideWords> build_words_;
  std::vector<Compared> compared_;
  std::vector<Step> steps_;
};

}  // namespace garuda::compute
