// How a pass uses a resource: what a barrier names as producer and as consumer.
#pragma once

#include <volk.h>

#include "garuda/error.hpp"

namespace garuda::vk {

/// Stages and accesses of a use, and the layout an image has in it. Uses combine with `|`; those of one image have to
/// agree in the layout.
struct ResourceUse {
  VkPipelineStageFlags2 stages = VK_PIPELINE_STAGE_2_NONE;
  VkAccessFlags2 access = VK_ACCESS_2_NONE;
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;  ///< of images; buffers ignore it

  friend constexpr ResourceUse operator|(ResourceUse a, ResourceUse b) {
    GARUDA_EXPECTS(a.layout == b.layout || a.layout == VK_IMAGE_LAYOUT_UNDEFINED ||
                   b.layout == VK_IMAGE_LAYOUT_UNDEFINED);
    return {a.stages | b.stages, a.access | b.access, a.layout == VK_IMAGE_LAYOUT_UNDEFINED ? b.layout : a.layout};
  }
  bool operator==(ResourceUse const&) const = default;
};

/// The uses garuda has. "Read" and "Write" in the names of storage uses mean storage buffers and storage images;
/// sampled ones mean texelFetch.
namespace use {

/// Nothing came before: the resource is new, or its contents are not wanted. Only for producers.
inline constexpr ResourceUse kUndefined{};

inline constexpr ResourceUse kHostRead{VK_PIPELINE_STAGE_2_HOST_BIT, VK_ACCESS_2_HOST_READ_BIT};

inline constexpr ResourceUse kTransferRead{VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_READ_BIT,
                                           VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL};
inline constexpr ResourceUse kTransferWrite{VK_PIPELINE_STAGE_2_ALL_TRANSFER_BIT, VK_ACCESS_2_TRANSFER_WRITE_BIT,
                                            VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL};

/// Drawn into, blended or not, cleared or loaded.
inline constexpr ResourceUse kColorAttachment{
    VK_PIPELINE_STAGE_2_COLOR_ATTACHMENT_OUTPUT_BIT,
    VK_ACCESS_2_COLOR_ATTACHMENT_READ_BIT | VK_ACCESS_2_COLOR_ATTACHMENT_WRITE_BIT,
    VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL};

inline constexpr ResourceUse kVertexRead{VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
                                         VK_IMAGE_LAYOUT_GENERAL};
inline constexpr ResourceUse kVertexSampled{VK_PIPELINE_STAGE_2_VERTEX_SHADER_BIT, VK_ACCESS_2_SHADER_SAMPLED_READ_BIT,
                                            VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};

inline constexpr ResourceUse kComputeRead{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT, VK_ACCESS_2_SHADER_STORAGE_READ_BIT,
                                          VK_IMAGE_LAYOUT_GENERAL};
/// Written, or read and written (atomics), by compute.
inline constexpr ResourceUse kComputeWrite{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                           VK_ACCESS_2_SHADER_STORAGE_READ_BIT | VK_ACCESS_2_SHADER_STORAGE_WRITE_BIT,
                                           VK_IMAGE_LAYOUT_GENERAL};
inline constexpr ResourceUse kComputeSampled{VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT,
                                             VK_ACCESS_2_SHADER_SAMPLED_READ_BIT,
                                             VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL};

}  // namespace use

}  // namespace garuda::vk
