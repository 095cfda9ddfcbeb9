#include "keywords.hpp"

#include <array>

#include "handles.hpp"

namespace mpixrma::python {

namespace {

/// An attribute that is on or off.
struct Switch {
  char const* keyword;
  std::uint64_t bit;
};
constexpr Switch switches[] = {
    {"blocking", MPIX_RMA_ATTR_BLOCKING},
    {"remote_completion", MPIX_RMA_ATTR_REMOTE_COMPLETION},
    {"ordering", MPIX_RMA_ATTR_ORDERING},
    {"atomicity", MPIX_RMA_ATTR_ATOMICITY},
    {"origin_communicatable", MPIX_RMA_ATTR_ORIGIN_COMMUNICATABLE},
    {"target_communicatable", MPIX_RMA_ATTR_TARGET_COMMUNICATABLE},
};
constexpr std::size_t switch_count = std::size(switches);

enum Other : std::size_t { notify, request, result, op, scale, other_count };
constexpr char const* other_names[other_count] = {"notify", "request", "result", "op", "scale"};
constexpr unsigned other_accepted[other_count] = {attributes_only, accepts_request, accepts_result,
                                                  accepts_operation, accepts_operation};

std::array<PyObject*, switch_count + other_count> keyword_names;  // interned: callers have the same objects

std::size_t index_of(PyObject* name) {
  for (std::size_t i = 0; i < keyword_names.size(); ++i)
    if (keyword_names[i] == name) return i;
  for (std::size_t i = 0; i < keyword_names.size(); ++i)
    if (PyUnicode_Compare(keyword_names[i], name) == 0) return i;
  return keyword_names.size();
}

int as_int(PyObject* value) {
  int overflow = 0;
  long const number = PyLong_AsLongAndOverflow(value, &overflow);
  if (number == -1 && PyErr_Occurred() != nullptr) raise_set();
  if (overflow != 0 || number != static_cast<int>(number)) {
    PyErr_SetString(PyExc_OverflowError, "the index of a notification counter is an int");
    raise_set();
  }
  return static_cast<int>(number);
}

void assign(Keywords& keywords, Other which, PyObject* value) {
  switch (which) {
    case notify:
      keywords.attributes.notify_index = as_int(value);
      keywords.attributes.set |= MPIX_RMA_ATTR_NOTIFY;
      break;
    case request: keywords.request = value; break;
    case result: keywords.result = value; break;
    case op:
      keywords.attributes.accumulate_op = op_of(value);
      keywords.attributes.set |= MPIX_RMA_ATTR_ACCUMULATE_OP;
      break;
    case scale: keywords.scale = value; break;
    case other_count: break;
  }
}

}  // namespace

void prepare_keywords() {
  for (std::size_t i = 0; i < keyword_names.size(); ++i)
    keyword_names[i] = owned(PyUnicode_InternFromString(i < switch_count ? switches[i].keyword
                                                                         : other_names[i - switch_count]))
                           .release()
                           .ptr();
}

Keywords parse_keywords(Arguments const& arguments, unsigned accepted, char const* function) {
  Keywords keywords;
  for (Py_ssize_t i = 0; i < arguments.keyword_count(); ++i) {
    PyObject* const name = PyTuple_GET_ITEM(arguments.keywords, i);
    PyObject* const value = arguments.keyword_value(i);
    std::size_t const index = index_of(name);
    if (index < switch_count) {
      int const on = PyObject_IsTrue(value);
      if (on < 0) raise_set();
      if (on != 0) keywords.attributes.set |= switches[index].bit;
      continue;
    }
    std::size_t const other = index - switch_count;
    if (other >= other_count || (other_accepted[other] & ~accepted) != 0) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", function, name);
      raise_set();
    }
    if (value != Py_None) assign(keywords, static_cast<Other>(other), value);
  }
  return keywords;
}

}  // namespace mpixrma::python
