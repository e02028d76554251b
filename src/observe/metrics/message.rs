//! Owns histograms in OTLP: one request with all of them, cumulative since the start.

use bytes::Bytes;

use super::Measured;

/// The request that sends them.
#[cfg(feature = "otlp")]
pub(super) fn request(measured: &Measured, environment: &str) -> Bytes {
    use prost::Message as _;

    messages::export(measured, environment).encode_to_vec().into()
}

/// This build has no OpenTelemetry.
#[cfg(not(feature = "otlp"))]
pub(super) fn request(_measured: &Measured, _environment: &str) -> Bytes {
    Bytes::new()
}

#[cfg(feature = "otlp")]
mod messages {
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
    use opentelemetry_proto::tonic::metrics::v1::{
        AggregationTemporality, Histogram, HistogramDataPoint, Metric, ResourceMetrics, ScopeMetrics, metric,
    };
    use serde_json::Value;

    use super::super::{Attributes, Histogram as Counted, Instrument, Measured};
    use crate::observe::otlp::messages::{attribute, nanos, resource, scope};

    pub(super) fn export(measured: &Measured, environment: &str) -> ExportMetricsServiceRequest {
        let metrics = Instrument::ALL.into_iter().filter_map(|instrument| metric(measured, instrument)).collect();
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics, ..Default::default() }];
        let instance = measured.instance.get_or_init(|| uuid::Uuid::new_v4().to_string());
        let resource_metrics = vec![ResourceMetrics { resource: Some(resource(environment, Some(instance))), scope_metrics, ..Default::default() }];
        ExportMetricsServiceRequest { resource_metrics }
    }

    fn metric(measured: &Measured, instrument: Instrument) -> Option<Metric> {
        let of_it = measured.series.iter().filter(|((of, _), _)| *of == instrument);
        let data_points: Vec<_> = of_it.map(|((_, about), counted)| point(measured, instrument, about, counted)).collect();
        let (name, unit, description) = instrument.name_unit_help();
        let data = Histogram { data_points, aggregation_temporality: AggregationTemporality::Cumulative.into() };
        (!data.data_points.is_empty()).then(|| Metric {
            name: name.into(),
            unit: unit.into(),
            description: description.into(),
            data: Some(metric::Data::Histogram(data)),
            ..Default::default()
        })
    }

    fn point(measured: &Measured, instrument: Instrument, about: &Attributes, counted: &Counted) -> HistogramDataPoint {
        let said = |(name, text): &(&'static str, String)| match *name {
            "otel.metric.overflow" => attribute(name, &Value::Bool(true)),
            name => attribute(name, &Value::String(text.clone())),
        };
        HistogramDataPoint {
            attributes: about.iter().map(said).collect(),
            start_time_unix_nano: nanos(measured.since.unwrap_or(measured.until)),
            time_unix_nano: nanos(measured.until),
            count: counted.count,
            sum: Some(counted.sum),
            bucket_counts: counted.buckets.clone(),
            explicit_bounds: instrument.bounds().to_vec(),
            min: Some(counted.least),
            max: Some(counted.most),
            ..Default::default()
        }
    }
}
