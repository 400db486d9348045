# Compiles GLSL at build time and embeds the SPIR-V.

find_program(GARUDA_GLSLC glslc)
find_program(GARUDA_SPIRV_VAL spirv-val)
find_program(GARUDA_SPIRV_DIS spirv-dis)
find_program(GARUDA_SPIRV_OPT spirv-opt)
foreach(tool GLSLC SPIRV_VAL SPIRV_DIS SPIRV_OPT)
  if(NOT GARUDA_${tool})
    string(TOLOWER ${tool} name)
    string(REPLACE "_" "-" name ${name})
    message(FATAL_ERROR "${name} was not found. Run ./dev setup, or: apt-get install glslc spirv-tools")
  endif()
endforeach()

set(garuda_embed_script ${CMAKE_CURRENT_LIST_DIR}/EmbedSpirv.cmake)

# garuda_add_shaders(TARGET [DIRECTORY dir] [NAMESPACE ns] [HEADER header] FILES entries...)
#
# Adds shaders to an existing target of the calling folder. An entry is a file of DIRECTORY (default: the calling folder)
# by its relative name, "join/build.vert", or a variant of it with preprocessor definitions after a colon,
# "join/build.vert:KEY_WORDS=2,STACK". Includes are found from DIRECTORY and from shaders/ (#include "shared/u64.glsl").
#
# HEADER (default "shaders/embedded.hpp") declares in NAMESPACE (default garuda::shaders):
#   std::span<garuda::vk::ShaderCode const> all();
#   garuda::vk::ShaderCode const* find(std::string_view entry);   nullptr when there is none
#   garuda::vk::ShaderCode get(std::string_view entry);           LogicError when there is none
#
# Each module is validated by spirv-val; its disassembly with the source's names lies beside it in the build folder,
# spirv/<entry>.spvasm. A changed shader, or a changed file that it includes, is compiled again.
function(garuda_add_shaders target)
  cmake_parse_arguments(arg "" "DIRECTORY;NAMESPACE;HEADER" "FILES" ${ARGN})
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "garuda_add_shaders(${target}): unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_DIRECTORY)
    set(arg_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  endif()
  get_filename_component(arg_DIRECTORY ${arg_DIRECTORY} ABSOLUTE)
  if(NOT arg_NAMESPACE)
    set(arg_NAMESPACE garuda::shaders)
  endif()
  if(NOT arg_HEADER)
    set(arg_HEADER shaders/embedded.hpp)
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_shaders)

  set(arrays "")
  set(rows "")
  set(index 0)
  foreach(entry ${arg_FILES})
    garuda_compile_shader(${entry} ${arg_DIRECTORY} ${folder})
    target_sources(${target} PRIVATE ${garuda_words})
    string(APPEND arrays "constexpr std::uint32_t kWords${index}[] = {\n#include \"${garuda_words}\"\n};\n")
    string(APPEND rows "    garuda::vk::ShaderCode{\"${entry}\", kWords${index}},\n")
    math(EXPR index "${index} + 1")
  endforeach()

  set(GARUDA_SHADER_NAMESPACE ${arg_NAMESPACE})
  set(GARUDA_SHADER_HEADER ${arg_HEADER})
  set(GARUDA_SHADER_ARRAYS "${arrays}")
  set(GARUDA_SHADER_ROWS "${rows}")
  set(GARUDA_SHADER_COUNT ${index})
  set(templates ${PROJECT_SOURCE_DIR}/cmake)
  configure_file(${templates}/EmbeddedShaders.hpp.in ${folder}/include/${arg_HEADER} @ONLY)
  configure_file(${templates}/EmbeddedShaders.cpp.in ${folder}/embedded.cpp @ONLY)
  target_sources(${target} PRIVATE ${folder}/embedded.cpp)
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${folder}/include>)
endfunction()

# garuda_compile_shader(ENTRY DIRECTORY FOLDER): declares how ENTRY is built; in garuda_words the file of its words.
function(garuda_compile_shader entry directory folder)
  string(REGEX MATCH "^([^:]+)(:(.+))?$" matched "${entry}")
  if(NOT matched)
    message(FATAL_ERROR "not a shader entry (file or file:DEFINITION,...): ${entry}")
  endif()
  set(source ${directory}/${CMAKE_MATCH_1})
  string(REPLACE "," ";" definitions "${CMAKE_MATCH_3}")
  list(TRANSFORM definitions PREPEND -D)
  string(REGEX REPLACE "[:,=]" "." stem ${entry})
  set(stem ${folder}/spirv/${stem})
  get_filename_component(stem_folder ${stem} DIRECTORY)
  file(MAKE_DIRECTORY ${stem_folder})
  add_custom_command(
    OUTPUT ${stem}.words
    BYPRODUCTS ${stem}.named.spv ${stem}.spv ${stem}.spvasm
    # The names of the source stay in the disassembly; what is embedded goes without them.
    COMMAND ${GARUDA_GLSLC} --target-env=vulkan1.3 -O -g -Werror ${definitions} -I${directory}
            -I${PROJECT_SOURCE_DIR}/shaders -MD -MF ${stem}.d -MT ${stem}.words -o ${stem}.named.spv ${source}
    COMMAND ${GARUDA_SPIRV_VAL} --target-env vulkan1.3 ${stem}.named.spv
    COMMAND ${GARUDA_SPIRV_DIS} ${stem}.named.spv -o ${stem}.spvasm
    COMMAND ${GARUDA_SPIRV_OPT} --strip-debug ${stem}.named.spv -o ${stem}.spv
    COMMAND ${CMAKE_COMMAND} -D INPUT=${stem}.spv -D OUTPUT=${stem}.words -P ${garuda_embed_script}
    MAIN_DEPENDENCY ${source}
    DEPENDS ${garuda_embed_script}
    DEPFILE ${stem}.d
    COMMENT "Compiling shader ${entry}"
    VERBATIM)
  set(garuda_words ${stem}.words PARENT_SCOPE)
endfunction()
