{{- define "finops.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "finops.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "finops.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "finops.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "finops.selector" -}}
app.kubernetes.io/name: {{ include "finops.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "finops.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{ include "finops.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "finops.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "finops.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "finops.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{- /* Environment of a program: {root, env}, env of the program itself last. */ -}}
{{- define "finops.environment" -}}
{{- $values := .root.Values -}}
{{- $settings := dict
  "PUBLIC_URL" $values.publicUrl
  "LAKE_URL" $values.lakeUrl
  "BEHIND_TLS_PROXY" "1"
  "PROXY_COUNT" ($values.proxyCount | toString)
  "METRICS_DIR" "/tmp/metrics"
  "TMPDIR" "/tmp" -}}
{{- $settings = mergeOverwrite $settings (deepCopy $values.settings) (deepCopy .env) -}}
{{- $secrets := dict -}}
{{- range list "DATABASE_URL" "REDIS_URL" "SECRET_KEY" "KEY_PEPPER" -}}
{{- $_ := set $secrets . (dict "name" $values.existingSecret "key" .) -}}
{{- end -}}
{{- $secrets = mergeOverwrite $secrets (deepCopy $values.settingsFromSecrets) -}}
envFrom:
  - secretRef: {name: {{ $values.existingSecret | quote }}}
env:
{{- range $name, $secret := $secrets }}
  - name: {{ $name }}
    valueFrom:
      secretKeyRef: {name: {{ $secret.name | quote }}, key: {{ $secret.key | quote }}}
{{- end }}
{{- range $name, $value := $settings }}
{{- if not (hasKey $secrets $name) }}
  - {name: {{ $name }}, value: {{ $value | toString | quote }}}
{{- end }}
{{- end }}
{{- end -}}

{{- /* What every pod has: {root, values}. */ -}}
{{- define "finops.pod" -}}
automountServiceAccountToken: false
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext: {{ toYaml .root.Values.podSecurityContext | nindent 2 }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* {root, values, component} */ -}}
{{- define "finops.spread" -}}
topologySpreadConstraints:
{{- with .values.topologySpreadConstraints }}
{{ toYaml . | indent 2 }}
{{- else }}
{{- $context := . }}
{{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - topologyKey: {{ . }}
    maxSkew: 1
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "finops.selector" $context.root | nindent 8 }}
        app.kubernetes.io/component: {{ $context.component }}
{{- end }}
{{- end }}
{{- end -}}

{{- /* {root, component}; labels of a pod. */ -}}
{{- define "finops.podMetadata" -}}
labels:
  {{- include "finops.labels" .root | nindent 2 }}
  app.kubernetes.io/component: {{ .component }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .root.Values.podAnnotations }}
annotations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "finops.mounts" -}}
volumeMounts:
  - {name: shared, mountPath: /var/lib/finops}
  - {name: spill, mountPath: /var/lib/finops/spill}
  - {name: cache, mountPath: /var/lib/finops/cache}
  - {name: tmp, mountPath: /tmp}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* Of programs that work with the lake: spill and copies are of one pod. */ -}}
{{- define "finops.volumes" -}}
volumes:
  - name: shared
    persistentVolumeClaim:
      claimName: {{ default (include "finops.fullname" .root) .root.Values.persistence.existingClaim }}
  - {name: spill, emptyDir: {sizeLimit: {{ .values.spillSize }}}}
  - {name: cache, emptyDir: {sizeLimit: {{ .values.cacheSize }}}}
  - {name: tmp, emptyDir: {sizeLimit: {{ .values.tmpSize }}}}
  {{- with .root.Values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{- /* Of programs that keep nothing. */ -}}
{{- define "finops.ownMounts" -}}
volumeMounts:
  - {name: own, mountPath: /var/lib/finops}
  - {name: tmp, mountPath: /tmp}
{{- end -}}

{{- define "finops.ownVolumes" -}}
volumes:
  - {name: own, emptyDir: {sizeLimit: 256Mi}}
  - {name: tmp, emptyDir: {sizeLimit: 256Mi}}
{{- end -}}

{{- /* The file of heartbeats is younger than a minute: a program without one has no turn at its loop. */ -}}
{{- define "finops.heartbeatProbes" -}}
startupProbe:
  exec:
    command: [sh, -c, 'test $(( $(date +%s) - $(stat -c %Y /tmp/heartbeat) )) -lt 60']
  periodSeconds: 10
  failureThreshold: 18
livenessProbe:
  exec:
    command: [sh, -c, 'test $(( $(date +%s) - $(stat -c %Y /tmp/heartbeat) )) -lt 60']
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 3
{{- end -}}
