// A condition as passes take it: by specialisation constants, or as the steps of a program; and the pass that tests one
// on the pairs of a resident join, before anything of them is written.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "expr/condition_parts.hpp"
#include "operators/compute/primitives/compute_context.hpp"
#include "vk_runtime/memory/memory.hpp"

namespace garuda::compute {

/// Writes the steps of a condition, as all passes that test one step through them (conditions_layout.h).
class ConditionSteps {
 public:
  /// A side of a comparison: a word of a row's column, or a constant.
  struct Operand {
    std::uint32_t source = 0;  ///< kProbeOperand, kBuildOperand or kConstantOperand
    std::uint64_t value = 0;   ///< the column's address, or the constant
    std::uint32_t form = 0;    ///< how words are made of those that are stored (conditions_layout.h)
  };

  /// Writes a condition of postfix steps. `add_comparison(comparison)` writes the one with that number.
  template <class AddComparison>
  void add(std::span<expr::PairStep const> steps, AddComparison const& add_comparison) {
    for (auto const& step : steps) {
      if (step.kind == expr::PairStep::Kind::comparison)
        add_comparison(step.comparison);
      else
        combine(step.kind);
    }
  }
  /// `kind`: kStepCompare, of values of `words` u32 words, or one of the kinds of conditions_layout.h.
  void compare(std::uint32_t kind, Comparator comparator, std::uint32_t words, Operand const& first,
               Operand const& second);
  /// Combines the last two results, by all or any.
  void combine(expr::PairStep::Kind kind);
  /// Makes the last result false where a word of `valid` is not 1: a comparison with null is false.
  void and_valid(Operand const& valid);

  std::vector<std::uint32_t> const& words() const noexcept { return words_; }
  std::vector<std::uint32_t> take() noexcept { return std::move(words_); }

 private:
  std::vector<std::uint32_t> words_;
};

/// Whether a program of these steps fits the passes, which keep few results at a time. `beside`: results that are kept
/// beside those of the steps.
bool fits_program(std::span<expr::PairStep const> steps, std::size_t beside) noexcept;

/// Words of a side that a pass reads: a column's, or whether it has values, as words 0 and 1.
struct SideWords {
  std::uint32_t column = 0;
  bool is_validity = false;

  friend bool operator==(SideWords const&, SideWords const&) = default;
};

/// Whether the program of a condition fits the passes: it keeps few results at a time.
bool fits_passes(expr::ConditionParts const& parts);

/// Whether one or two comparisons of columns of both tables are all that is left to test.
bool is_simple(expr::ConditionParts const& parts);

/// The part of a condition that is tested of pairs, seen from a side whose rows are probed. Addresses are filled in
/// later.
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
  std::size_t position(Side side, SideWords words);
  ConditionSteps::Operand operand_of(expr::WordOperand const& operand, bool is_validity = false);
  void add_comparison(expr::WordComparison const& comparison);

  expr::PairCondition const* condition_;
  Side probe_;
  bool is_simple_ = false;
  std::vector<SideWords> probe_words_;
  std::vector<SideWords> build_words_;
  std::vector<Compared> compared_;
  ConditionSteps steps_;  // the values of columns are positions in read()
};

/// Pairs of row numbers, and where marks go, zeroed: bits of the pairs that pass, and of their rows.
struct TestedPairs {
  std::uint64_t pairs = 0;
  VkDeviceAddress left_rows = 0;
  VkDeviceAddress right_rows = 0;
  VkDeviceAddress marks = 0;
  VkDeviceAddress left_marks = 0;  ///< 0: not wanted
  VkDeviceAddress right_marks = 0;
  bool many_words = false;  ///< the condition compares values of more than two words
};

/// Records the test. `program`: on the device, of `steps` steps as conditions_layout.h has them.
Result<void> record_pair_filter(ComputeContext& context, TestedPairs const& tested, vk::Buffer const& program,
                                std::uint64_t steps);

/// Every pipeline of the pass with this tuning.
std::vector<vk::ComputePipelineSpec> pair_filter_pipelines(ComputeTuning const& tuning);

}  // namespace garuda::compute
