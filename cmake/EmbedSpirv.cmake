# cmake -D INPUT=module.spv -D OUTPUT=module.words -P EmbedSpirv.cmake: the module's words as C++ literals, one a line.
# SPIR-V is written in the byte order of the machine that compiles it, which is little-endian on every one supported.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1,\n" words "${bytes}")
file(WRITE ${OUTPUT} "${words}")
