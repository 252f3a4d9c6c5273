// For what sees json/, whose headers include it.
#include <simdjson.h>
