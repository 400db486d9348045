// The CUDA group-by against sums and groups found one row at a time.
#include "operators/cuda/cuda_path.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cuda/cuda_device.hpp"
#include "tests/unwrap.hpp"
#include "tests/workloads/group_kernel_checks.hpp"
#include "tests/workloads/group_kernel_test.hpp"

namespace garuda::cuda {
namespace {

using testing::Counters;
using testing::GroupCase;
using testing::GroupPattern;
using testing::GroupProblem;
using testing::kAllStates;
using testing::kKinds;
using testing::kShapes;
using testing::value_of;
using testing::ValueColumn;
using testing::ValuePattern;

class CudaGroupBy : public testing::GroupKernelTestOn<testing::CudaDeviceTest> {
 protected:
  static std::unique_ptr<contract::GroupByBackend> open(contract::StatsSink* stats = nullptr,
                                                        std::uint64_t expected_groups = 0) {
    contract::GroupByBackendOptions options;
    options.max_value_words = 4;
    options.stats = stats;
    options.expected_groups = expected_groups;
    return value_of(open_cuda_group_by(device(), options));
  }
};

TEST_F(CudaGroupBy, EverySmallCase) {
  auto const backend = open();
  std::uint32_t seed = 0;
  for (auto const& shape : kShapes) {
    for (std::uint32_t pattern = 0; pattern < testing::kNumGroupPatterns; ++pattern) {
      for (std::uint64_t const rows : {1, 31, 255, 257}) {
        auto const kept = shape.bits == 0 && shape.words == 0 ? GroupPattern::one : static_cast<GroupPattern>(pattern);
        GroupCase const group_case{rows, kept, shape, ++seed};
        SCOPED_TRACE(to_string(group_case));
        run(*backend, group_case, 1);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST_F(CudaGroupBy, EveryKindOfValues) {
  auto const backend = open();
  GroupProblem const problem({257, GroupPattern::zipf, {32, 0, false, false}, 5});
  auto const kernel = value_of(backend->begin(problem.slice(), 0));
  expect_groups(*kernel, problem);
  for (auto const kind : kKinds) {
    for (std::uint32_t values = 0; values < testing::kNumValuePatterns; ++values) {
      for (bool const nulls : {false, true}) {
        SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + " values " + std::to_string(values));
        ValueColumn const column(kind, static_cast<ValuePattern>(values), nulls, 257, values + 1);
        expect_states(*kernel, problem, column, kAllStates);
        if (HasFatalFailure()) return;
      }
    }
  }
  expect_states(*kernel, problem, ValueColumn(contract::ValueKind::none, ValuePattern::tiny, true, 257, 9),
                contract::kCountState);
}

TEST_F(CudaGroupBy, KernelCases) {
  auto const backend = open();
  for (bool const large : {false, true}) {
    for (auto const& kernel_case : testing::kernel_cases(large)) {
      if (too_large(kernel_case.rows)) continue;
      SCOPED_TRACE(to_string(kernel_case));
      testing::check_group_kernel(*backend, kernel_case);
      if (HasFailure()) return;
    }
  }
}

/// Few groups of many rows are accumulated in shared memory, many in device memory.
TEST_F(CudaGroupBy, LargeCases) {
  auto const backend = open();
  if (too_large(100'003)) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  std::uint32_t seed = 100;
  for (auto const& shape : {kShapes[0], kShapes[1], kShapes[2], kShapes[4], kShapes[6]}) {
    for (std::uint32_t pattern = 0; pattern < testing::kNumGroupPatterns; ++pattern) {
      auto const kept = shape.bits == 0 && shape.words == 0 ? GroupPattern::one : static_cast<GroupPattern>(pattern);
      GroupCase const group_case{100'003, kept, shape, ++seed};
      SCOPED_TRACE(to_string(group_case));
      run(*backend, group_case, 7);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(CudaGroupBy, ATableThatIsTooSmallIsMadeAgain) {
  Counters counters;
  auto const backend = open(&counters, 3);
  GroupCase const group_case{4'000, GroupPattern::distinct, {64, 0, false, false}, 7};
  if (too_large(group_case.rows)) GTEST_SKIP() << "more rows than GARUDA_TEST_MAX_ROWS";
  run(*backend, group_case, 2);
  EXPECT_EQ(counters.value("tables_outgrown"), 1U);
}

/// Every kernel with few launches, for runs under compute-sanitizer; kinds of values and states take turns.
TEST_F(CudaGroupBy, ReducedMatrix) {
  std::uint32_t seed = 300;
  auto const backend = open();
  for (auto const& shape : {kShapes[0], kShapes[3], kShapes[4], kShapes[6], kShapes[10]}) {
    for (auto const pattern : {GroupPattern::zipf, GroupPattern::distinct}) {
      bool const has_keys = shape.bits > 0 || shape.words > 0;
      GroupCase const group_case{3'001, has_keys ? pattern : GroupPattern::one, shape, ++seed};
      SCOPED_TRACE(to_string(group_case));
      run(*backend, group_case, 2);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace garuda::cuda
