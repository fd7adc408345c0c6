# cmake -DOUTPUT=FILE -DFILES=page.html;openapi.json -P: a function NAME_document() for each file.
set(text "#include \"serve/documents.hpp\"\n\nnamespace leafctl::serve {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME_WE)
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND text "\nstd::string_view ${name}_document() noexcept {\n"
    "  static constexpr char text[] = {${bytes}};\n  return {text, sizeof text};\n}\n")
endforeach()
string(APPEND text "\n}  // namespace leafctl::serve\n")
file(WRITE ${OUTPUT} "${text}")
