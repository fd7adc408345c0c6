# Writes OUTPUT, which defines the functions for SQL of DATABASE from FILE.

file(READ ${FILE} sql)
file(WRITE ${OUTPUT} "#include \"store/${DATABASE}/functions.hpp\"

namespace leaf::store::${DATABASE} {

const char* const functions = R\"sql(${sql})sql\";

}  // namespace leaf::store::${DATABASE}
")
