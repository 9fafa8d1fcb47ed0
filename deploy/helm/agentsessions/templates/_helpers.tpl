{{- define "agentsessions.name" -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "agentsessions.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "agentsessions.labels" -}}
{{ include "agentsessions.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "agentsessions.secret" -}}
{{- if .Values.secrets.existing -}}
{{ .Values.secrets.existing }}
{{- else if .Values.secrets.values -}}
{{ include "agentsessions.name" . }}
{{- end -}}
{{- end -}}
