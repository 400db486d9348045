// GPUs that run the code of a build: machine code within a major version, PTX from its own on.
#include "cuda_backend/architectures.hpp"

#include <gtest/gtest.h>

namespace garuda::cuda_backend {
namespace {

TEST(CudaArchitectures, MachineCodeRunsWithinItsMajorVersion) {
  EXPECT_TRUE(has_code_for("80-real", 80));
  EXPECT_TRUE(has_code_for("80-real", 86));
  EXPECT_FALSE(has_code_for("86-real", 80));
  EXPECT_FALSE(has_code_for("80-real", 90));
  EXPECT_FALSE(has_code_for("80-real", 75));
}

TEST(CudaArchitectures, PtxRunsFromItsOwnOn) {
  EXPECT_TRUE(has_code_for("90", 90));
  EXPECT_TRUE(has_code_for("90", 120));
  EXPECT_TRUE(has_code_for("90-virtual", 100));
  EXPECT_FALSE(has_code_for("90", 89));
}

TEST(CudaArchitectures, AnyEntryWillDo) {
  constexpr auto kAll = "75-real,80-real,86-real,89-real,90";
  for (auto const capability : {75U, 80U, 86U, 87U, 89U, 90U, 100U, 120U}) EXPECT_TRUE(has_code_for(kAll, capability));
  EXPECT_FALSE(has_code_for(kAll, 72));
  EXPECT_FALSE(has_code_for("", 90));
}

TEST(CudaArchitectures, NamesAreTakenAtTheirWord) { EXPECT_TRUE(has_code_for("native", 75)); }

}  // namespace
}  // namespace garuda::cuda_backend
