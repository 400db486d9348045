// Waits for a lane before an error leaves, so that nothing that it destroys is in use.
#pragma once

#include "garuda/error.hpp"
#include "vk_runtime/lane.hpp"

namespace garuda::vulkan {

/// `result`; where it is an error, once the device does nothing more for the lane. Who gets the error lets go of
/// buffers and images of its own, which submissions before it may still use: a driver writes to what they were. Blocks
/// for as long as two submissions take.
template <class T>
Result<T> settled(vk::Lane& lane, Result<T> result) {
  if (!result) (void)lane.drain();
  return result;
}

}  // namespace garuda::vulkan
