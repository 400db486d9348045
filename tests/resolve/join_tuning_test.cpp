#include <gtest/gtest.h>

#include "garuda/join.hpp"

namespace garuda {
namespace {

TEST(JoinTuning, ParsesEveryKnob) {
  auto const text =
      "address=direct,storage=runs,probe=output,build=left,payload=carry,matching=compute,upload=stage,"
      "radix_bits=0,slice_rows=1000,lanes=3,chunk_rows=77";
  auto const tuning = parse_join_tuning(text);
  ASSERT_TRUE(tuning) << tuning.error().describe();
  EXPECT_EQ(tuning->address, Address::direct);
  EXPECT_EQ(tuning->storage, Storage::runs);
  EXPECT_EQ(tuning->probe, Probe::output);
  EXPECT_EQ(tuning->build, BuildSide::left);
  EXPECT_EQ(tuning->payload, Payload::carry);
  EXPECT_EQ(tuning->matching, Matching::compute);
  EXPECT_EQ(tuning->upload, Upload::stage);
  EXPECT_EQ(tuning->radix_bits, 0);
  EXPECT_EQ(tuning->slice_rows, 1000U);
  EXPECT_EQ(to_string(*tuning), text);
}

TEST(JoinTuning, EmptyAndAutoAreTheDefaults) {
  EXPECT_EQ(*parse_join_tuning(""), JoinTuning{});
  EXPECT_EQ(*parse_join_tuning("address=auto,lanes=auto,radix_bits=auto"), JoinTuning{});
  EXPECT_EQ(to_string(JoinTuning{}), "");
}

TEST(JoinTuning, NamesWhatIsWrong) {
  for (auto const* text : {"adress=direct", "address=direkt", "lanes=0", "lanes=99999999999999999999", "image=64",
                           "radix_bits=17", "lanes", "lanes=6x", "=", ","}) {
    auto const tuning = parse_join_tuning(text);
    ASSERT_FALSE(tuning) << text;
    EXPECT_EQ(tuning.error().code(), ErrorCode::usage) << text;
  }
  EXPECT_EQ(parse_join_tuning("lanes=257").error().message(), "tuning value of lanes must be auto or 1 to 256: 257");
}

}  // namespace
}  // namespace garuda
