// pybind11 bindings of exact sums, histograms and linear forms of samples.
#include "binding_helpers.h"
#include "statistics/buckets.h"
#include "statistics/loops.h"
#include "statistics/moments.h"

#include <pybind11/stl.h>

#include <cstdint>
#include <numeric>
#include <tuple>

namespace py = pybind11;
using jf::Tick;
using jf::Ticks;
using jf::statistics::Histogram;
using jf::statistics::SampleColumns;
using jf::statistics::Sum;

namespace {

// Samples as they are, whatever their strides: not `Ticks`, which may be copies.
using Columns = py::array_t<Tick, 0>;

py::list to_list(const std::vector<Sum>& sums) {
  py::list list;
  const py::int_ half(64);
  for (const Sum sum : sums) {
    py::int_ value(static_cast<std::uint64_t>(sum));
    if (const auto upper = static_cast<std::uint64_t>(sum >> 64); upper != 0)
      value = py::int_((py::int_(upper) << half) | value);
    list.append(std::move(value));
  }
  return list;
}

// Ticks, or offsets in unsigned integers of fewer bytes.
SampleColumns samples_of(const py::array& values,
                         const std::optional<std::vector<py::ssize_t>>& columns = std::nullopt) {
  if (values.ndim() != 2) throw std::invalid_argument("values must have two dimensions");
  const py::ssize_t size = values.itemsize();
  const auto address = reinterpret_cast<std::uintptr_t>(values.data());
  const bool offsets = values.dtype().kind() == 'u' && (size == 1 || size == 2 || size == 4);
  if (!offsets && !py::isinstance<Columns>(values))
    throw std::invalid_argument("samples must be int64, or offsets in unsigned integers");
  if (values.strides(0) % size != 0 || values.strides(1) % size != 0 ||
      address % static_cast<std::uintptr_t>(size))
    throw std::invalid_argument("samples must be aligned");
  std::vector<py::ssize_t> all(columns ? 0 : static_cast<std::size_t>(values.shape(1)));
  std::iota(all.begin(), all.end(), 0);
  SampleColumns found{values.data(),
                      static_cast<std::size_t>(values.shape(0)),
                      values.strides(0) / size,
                      {},
                      static_cast<int>(size)};
  for (const py::ssize_t column : columns ? *columns : all) {
    if (column < 0 || column >= values.shape(1)) throw std::invalid_argument("no such column");
    found.columns.push_back(column * values.strides(1) / size);
  }
  return found;
}

py::dict cross_moments(const py::array& values, const std::vector<py::ssize_t>& columns) {
  const SampleColumns samples = samples_of(values, columns);
  if (samples.realizations == 0) throw std::invalid_argument("there are no realizations");
  const auto found = jf::without_gil([&] { return jf::statistics::cross_moments(samples); });
  py::dict dict;
  dict["base"] = jf::as_array(found.base);
  dict["digits"] = found.digits;
  dict["sums"] = to_list(found.sums);
  dict["products"] = to_list(found.products);
  return dict;
}

py::dict third_moments(const std::vector<Ticks>& samples) {
  if (samples.empty() || samples.size() > 2 || samples[0].size() != samples.back().size())
    throw std::invalid_argument("samples must be one array, or two of the same size");
  std::vector<const Tick*> data;
  for (const Ticks& one : samples) data.push_back(one.data());
  const auto n = static_cast<std::size_t>(samples[0].size());
  const auto found = jf::without_gil([&] { return jf::statistics::third_moments(data, n); });
  py::dict dict;
  dict["low"] = found.low;
  dict["high"] = found.high;
  dict["digits"] = found.digits;
  dict["sums"] = to_list(found.sums);
  dict["products"] = to_list(found.products);
  dict["triples"] = to_list(found.triples);
  dict["less"] = found.less;
  dict["more"] = found.more;
  dict["nonzero"] = found.nonzero;
  return dict;
}

// In how many realizations x is smaller than y, equal, larger.
py::tuple count_wins(const Ticks& x, const Ticks& y) {
  if (x.size() != y.size()) throw std::invalid_argument("x and y must be of the same size");
  const auto n = static_cast<std::size_t>(x.size());
  std::size_t counts[3] = {};
  jf::without_gil([&] { jf::statistics::choose_loops().compare(x.data(), y.data(), n, counts); });
  return py::make_tuple(counts[0], n - counts[0] - counts[1], counts[1]);
}

// Starts and counts of the buckets, their level, and the ends of the samples.
using HistogramParts = std::tuple<Ticks, Ticks, int, Tick, Tick>;

HistogramParts to_tuple(const Histogram& histogram) {
  const auto size = static_cast<py::ssize_t>(histogram.buckets.size());
  Ticks starts(size), counts(size);
  auto start = starts.mutable_unchecked<1>(), count = counts.mutable_unchecked<1>();
  for (py::ssize_t i = 0; i < size; ++i) {
    const jf::statistics::Bucket& bucket = histogram.buckets[static_cast<std::size_t>(i)];
    start(i) = bucket.start;
    count(i) = bucket.count;
  }
  return {starts, counts, histogram.level, histogram.low, histogram.high};
}

HistogramParts count_buckets(const Ticks& values) {
  const auto n = static_cast<std::size_t>(values.size());
  return to_tuple(jf::without_gil([&] { return jf::statistics::count(values.data(), n); }));
}

Histogram histogram_of(const HistogramParts& given) {
  const auto& [starts, counts, level, low, high] = given;
  if (starts.size() != counts.size())
    throw std::invalid_argument("counts must be one for each of starts");
  Histogram histogram{level, {}, low, high};
  histogram.buckets.reserve(static_cast<std::size_t>(starts.size()));
  for (py::ssize_t i = 0; i < starts.size(); ++i)
    histogram.buckets.push_back({starts.data()[i], counts.data()[i]});
  return histogram;
}

HistogramParts merge_buckets(const HistogramParts& one, const HistogramParts& other) {
  return to_tuple(jf::statistics::merge(histogram_of(one), histogram_of(other)));
}

// The samples of ranks that ascend from 1.
template <class Sample>
std::vector<Sample> order_statistics(const py::array_t<Sample, py::array::c_style>& samples,
                                     std::vector<std::size_t> ranks) {
  const auto n = static_cast<std::size_t>(samples.size());
  std::size_t last = 1;
  for (std::size_t& rank : ranks) {
    if (rank < last || rank > n) throw std::invalid_argument("ranks must ascend, from 1");
    last = rank--;
  }
  return jf::without_gil(
      [&] { return jf::statistics::order_statistics(samples.data(), n, ranks); });
}

py::tuple column_ends(const Columns& values) {
  const SampleColumns samples = samples_of(values);
  const auto found = jf::without_gil([&] { return jf::statistics::column_ends(samples); });
  return py::make_tuple(jf::as_array(found.low), jf::as_array(found.high));
}

// Each column less its base, in the fewest bytes that the caller found for all; realization by
// realization, or column by column.
void pack_offsets(const Columns& values, const Ticks& base, py::array packed) {
  const bool fits = packed.ndim() == 2 && values.ndim() == 2 &&
                    packed.shape(0) == values.shape(0) && packed.shape(1) == values.shape(1) &&
                    base.size() == values.shape(1);
  const bool by_rows = packed.flags() & py::array::c_style;
  if (!fits || !(by_rows || packed.flags() & py::array::f_style) || packed.dtype().kind() != 'u')
    throw std::invalid_argument("packed must be unsigned, in order, and of the shape of values");
  const SampleColumns samples = samples_of(values);
  const auto pack_as = [&]<class Offset>(Offset) {
    auto* out = static_cast<Offset*>(packed.mutable_data());
    const auto call = by_rows ? jf::statistics::pack<Offset> : jf::statistics::pack_columns<Offset>;
    jf::without_gil([&] { call(samples, base.data(), out); });
  };
  switch (packed.itemsize()) {
    case 1:
      return pack_as(std::uint8_t{});
    case 2:
      return pack_as(std::uint16_t{});
    case 4:
      return pack_as(std::uint32_t{});
    default:
      return pack_as(std::uint64_t{});
  }
}

// The sum of coefficient * column, and a constant, in each realization.
void linear_form(const py::array& values, const std::vector<py::ssize_t>& columns,
                 const std::vector<Tick>& coefficients, Tick constant, py::array_t<Tick> out) {
  const SampleColumns samples = samples_of(values, columns);
  if (columns.size() != coefficients.size())
    throw std::invalid_argument("coefficients must be one for each of columns");
  if (out.ndim() != 1 || out.shape(0) != values.shape(0) ||
      (out.shape(0) > 1 && out.strides(0) != static_cast<py::ssize_t>(sizeof(Tick))))
    throw std::invalid_argument("out must be one run of memory, of one number per realization");
  Tick* to = out.mutable_data();
  jf::without_gil([&] { jf::statistics::linear_form(samples, coefficients, constant, to); });
}

Ticks quotients(const Ticks& x, const Ticks& y, double one) {
  if (x.size() != y.size()) throw std::invalid_argument("x and y must be of the same size");
  Ticks out(x.size());
  // The largest double below 2^63.
  constexpr double kMost = 9223372036854774784.0;
  Tick* to = out.mutable_data();
  jf::without_gil([&] {
    jf::statistics::choose_loops().quotients(x.data(), y.data(), static_cast<std::size_t>(x.size()),
                                             one, kMost, to);
  });
  return out;
}

}  // namespace

void jf::bind_statistics(py::module_& m) {
  m.def("cross_moments", &cross_moments, py::arg("values"), py::arg("columns"));
  m.def("third_moments", &third_moments, py::arg("samples"));
  m.def("count_wins", &count_wins, py::arg("x"), py::arg("y"));
  m.def("count_buckets", &count_buckets, py::arg("values"));
  m.def("merge_buckets", &merge_buckets, py::arg("one"), py::arg("other"));
  m.def("order_statistics", &order_statistics<Tick>, py::arg("samples").noconvert(),
        py::arg("ranks"));
  m.def("order_statistics", &order_statistics<double>, py::arg("samples").noconvert(),
        py::arg("ranks"));
  m.def("column_ends", &column_ends, py::arg("values"));
  m.def("pack_offsets", &pack_offsets, py::arg("values"), py::arg("base"),
        py::arg("packed").noconvert());
  m.def("linear_form", &linear_form, py::arg("values"), py::arg("columns"), py::arg("coefficients"),
        py::arg("constant"), py::arg("out").noconvert());
  m.def("quotients", &quotients, py::arg("x"), py::arg("y"), py::arg("one"));
}
